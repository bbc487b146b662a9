package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Decides about a notice that has a row: one that `notification.intend()` recorded, or one that
/// was held and is due.
package struct DecideNotice: Job {
    package static let kind = "notification.decide"
    package static let options = JobOptions(
        queue: "notices", priority: .high, backoff: Backoff(base: 5, ceiling: 600))

    package var noticeID: Int64

    package init(noticeID: Int64) { self.noticeID = noticeID }

    enum CodingKeys: String, CodingKey {
        case noticeID = "notice_id"
    }
}

/// The deciding of notices that have rows.
package struct Deciding: Sendable {
    /// Notices decided in one transaction.
    package static let batchLimit = 500

    private let catalogue: NoticeCatalogue
    private let policy: Policy

    package init(_ catalogue: NoticeCatalogue, policy: Policy = Policy()) {
        self.catalogue = catalogue
        self.policy = policy
    }

    /// Adds the kinds to those of a program, with the schedules that clear up.
    package func add(to kinds: inout JobKinds) {
        kinds.handleBatch(DecideNotice.self, upTo: Self.batchLimit) { batch in
            try await handle(batch)
        }
        kinds.handle(EndAbandoned.self) { _, context in
            try await EndAbandoned.withdrawCancelled(in: context.database, now: context.now)
            let ended = try await EndAbandoned.run(in: context.database, now: context.now)
            guard ended.notices + ended.deliveries > 0 else { return }
            context.log.with("notices", ended.notices).with("deliveries", ended.deliveries)
                .warning("jobs of notices have died without an answer: see 'errand dead ls'")
        }
        kinds.handle(ForgetEvents.self) { _, context in
            let count = try await ForgetEvents.run(in: context.database, now: context.now)
            context.log.with("events", count).info("old events are forgotten")
        }
        do {
            kinds.schedule(try EndAbandoned.schedule())
            kinds.schedule(try ForgetEvents.schedule())
        } catch { preconditionFailure("\(error)") }
    }

    private func handle(_ batch: JobBatch<DecideNotice>) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let teller = Teller(catalogue, context: context, policy: policy)
        let strange = try await context.database.transaction { transaction in
            let strange = try await teller.decide(
                batch.items.map(\.job.noticeID), now: context.now, in: transaction)
            try await batch.complete(
                batch.items.filter { strange[$0.job.noticeID] == nil }, in: transaction)
            return strange
        }
        return batch.items.map { item in
            strange[item.job.noticeID].map { kind in
                .retry(
                    after: nil,
                    reason: "no notices of kind \(kind) are declared here: check its name, or run "
                        + "a program that has it")
            } ?? .done
        }
    }
}

extension Teller {
    private struct Undecided {
        var notice: Int64
        var isHeld: Bool
        var intent: Intent

        init(_ row: Row) throws {
            notice = try row.int64("id")
            isHeld = try row.bool("is_held")
            intent = Intent(
                try row.text("kind"), to: try row.int64("person_id"), of: try row.text("subject"),
                data: try row.json("data"), dedupeKey: try row.text("dedupe_key"),
                expiresAt: try row.timestamp("expires_at"),
                from: try row.optionalInt64("sender_id"))
        }
    }

    /// Decides as of `now` about notices that are recorded or held; the others are left alone.
    ///
    /// Everything is asked again of those that were held. Several of one person whose kind merges
    /// become one digest.
    /// - Returns: the kinds that are not declared here, by notice; those notices stay as they are.
    package func decide(
        _ notices: [Int64], now: Date, in transaction: Transaction
    ) async throws -> [Int64: String] {
        let now = Instant(date: now)
        let found = try await transaction.query(
            TellerStatements.takeUndecided,
            [.int64Array(Set(notices).sorted()), .timestamp(now)]
        ).map(Undecided.init)
        var strange: [Int64: String] = [:]
        var known: [Undecided] = []
        var kinds: [NoticeKind] = []
        for each in found {
            if let kind = catalogue.kinds[each.intent.kind] {
                known.append(each)
                kinds.append(kind)
            } else {
                strange[each.notice] = each.intent.kind
            }
        }
        guard !known.isEmpty else { return strange }
        let facts = try await facts(
            known.map(\.intent), kinds, notices: known.map(\.notice), now: now, in: transaction)
        let (rulings, digests) = try rule(known, kinds, facts, now: now)
        let told = try await insert(digests, now: now, in: transaction)
        let merged = rulings.map { ruling -> Int64? in
            if case .merged(let place) = ruling.fate { told[place].noticeID } else { nil }
        }
        try await update(rulings, mergedInto: merged, now: now, in: transaction)
        try await carryOut(rulings + told, now: now, in: transaction)
        return strange
    }

    /// A ruling for each, and the digests into which some of them merge.
    private func rule(
        _ undecided: [Undecided], _ kinds: [NoticeKind], _ facts: Facts, now: Instant
    ) throws -> (rulings: [Ruling], digests: [Ruling]) {
        var facts = facts
        var rulings: [Ruling?] = Array(repeating: nil, count: undecided.count)
        var digests: [Ruling] = []
        let groups = Dictionary(grouping: undecided.indices) { place in
            let each = undecided[place]
            let canMerge = each.isHeld && kinds[place].mergesHeld
            return canMerge ? "\(each.intent.personID) \(each.intent.kind)" : "\(place) alone"
        }
        for places in groups.values.sorted(by: { $0[0] < $1[0] }) {
            var together: [Int] = []
            for place in places {
                let (intent, kind) = (undecided[place].intent, kinds[place])
                guard let person = facts.people[intent.personID] else { continue }
                let ruling = ruling(
                    intent, kind, notice: undecided[place].notice, person,
                    facts.history(place, intent), now)
                rulings[place] = ruling
                if places.count > 1, !ruling.channels.isEmpty {
                    together.append(place)
                } else {
                    facts.note(ruling, now: now)
                }
            }
            if together.count > 1, let person = facts.people[undecided[together[0]].intent.personID]
            {
                let digest = try digest(together.compactMap { rulings[$0] }, person, now)
                for place in together { rulings[place]?.fate = .merged(into: digests.count) }
                facts.note(digest, now: now)
                digests.append(digest)
            } else if let place = together.first, let ruling = rulings[place] {
                facts.note(ruling, now: now)
            }
        }
        return (rulings.compactMap(\.self), digests)
    }

    /// The ruling on a notice that has a row; one whose data do not fit its words is dropped, so
    /// that it does not hold up the others.
    private func ruling(
        _ intent: Intent, _ kind: NoticeKind, notice: Int64, _ person: PersonFacts,
        _ history: SubjectHistory, _ now: Instant
    ) -> Ruling {
        var ruling: Ruling
        do {
            ruling = try rule(intent, kind, person: person, history: history, now: now)
            for channel in ruling.channels where channel != .inbox {
                _ = try catalogue.wording.words(
                    of: kind.name, on: channel, data: intent.data, zone: person.zone)
            }
        } catch {
            ruling = Ruling(intent, kind, .drop("it cannot be put into words: \(error)"))
        }
        ruling.noticeID = notice
        return ruling
    }

    /// The one notice that several become.
    private func digest(
        _ rulings: [Ruling], _ person: PersonFacts, _ now: Instant
    ) throws -> Ruling {
        let first = rulings[0]
        guard let kind = first.kind.digest, let field = first.kind.listedInDigest else {
            throw JobError.invalid("\(first.kind.name) does not merge")
        }
        let items = try rulings.map { ruling in
            try JSONDecoder().decode([String: DigestItem].self, from: Data(ruling.intent.data))[
                field]?.text ?? ""
        }
        let data = try JSONEncoder().encode(DigestFacts(count: rulings.count, items: items))
        let intent = Intent(
            kind.name, to: person.id, of: kind.name, data: [UInt8](data),
            dedupeKey: "digest:\(first.noticeID ?? 0):\(now.microseconds)",
            expiresAt: rulings.map(\.intent.expiresAt).max() ?? now)
        var digest = Ruling(intent, kind, .tell(first.channels))
        digest.subjects = rulings.flatMap(\.subjects)
        digest.cooldown = first.kind.cooldown
        digest.mustLeave = first.kind.mustLeave
        try equip(&digest, person)
        return digest
    }
}

private struct DigestFacts: Encodable {
    var count: Int
    var items: [String]
}

/// A fact of any type as a digest lists it.
private struct DigestItem: Decodable {
    var text: String

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self.text = text
        } else if let number = try? value.decode(Double.self) {
            text = number == number.rounded() ? "\(Int64(number))" : "\(number)"
        } else {
            text = ""
        }
    }
}
