package import FoundationEssentials
package import Errand
package import ErrandPostgres

/// Decides about a recorded notice: one from `notification.intend()`, or a held one that is due.
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

/// Handles the jobs that decide about recorded notices.
package struct NoticeDecisionJobs: Sendable {
    /// The maximum number of notices decided in one transaction.
    package static let batchLimit = 500

    private let catalogue: NoticeCatalogue
    private let policy: Policy

    package init(_ catalogue: NoticeCatalogue, policy: Policy = Policy()) {
        self.catalogue = catalogue
        self.policy = policy
    }

    /// Registers the kinds, and the schedules for cleanup.
    package func add(to kinds: inout JobKinds) {
        kinds.handleBatch(DecideNotice.self, upTo: Self.batchLimit) { batch in
            try await handle(batch)
        }
        kinds.handle(CloseUndelivered.self) { _, context in
            // Workers run longer than a kind may be undeclared.
            _ = try await context.database.withSession { try await $0.query(catalogue.renewal()) }
            try await CloseUndelivered.expireSecrets(in: context.database, now: context.now)
            try await CloseUndelivered.withdrawCancelled(in: context.database, now: context.now)
            let ended = try await CloseUndelivered.run(in: context.database, now: context.now)
            guard ended.notices + ended.deliveries > 0 else { return }
            context.log.with("notices", ended.notices).with("deliveries", ended.deliveries)
                .warning("closed notices and deliveries of dead jobs: see 'errand dead ls'")
        }
        kinds.handle(ForgetEvents.self) { _, context in
            let count = try await ForgetEvents.run(in: context.database, now: context.now)
            context.log.with("events", count).info("deleted old events")
        }
        do {
            kinds.schedule(try CloseUndelivered.schedule())
            kinds.schedule(try ForgetEvents.schedule())
        } catch { preconditionFailure("\(error)") }
    }

    private func handle(_ batch: JobBatch<DecideNotice>) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let planner = NoticePlanner(catalogue, context: context, policy: policy)
        let undeclared = try await context.database.transaction { transaction in
            let undeclared = try await planner.decide(
                batch.items.map(\.job.noticeID), now: context.now, in: transaction)
            try await batch.complete(
                batch.items.filter { undeclared[$0.job.noticeID] == nil }, in: transaction)
            return undeclared
        }
        return batch.items.map { item in
            undeclared[item.job.noticeID].map { kind in
                .retry(
                    after: nil,
                    reason: "notice kind \(kind) is not declared here: check its name, or run "
                        + "a program that declares it")
            } ?? .done
        }
    }
}

extension NoticePlanner {
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

    /// Decides as of `now` about notices that are intended or held; ignores others.
    ///
    /// Held notices pass through the whole policy again. Those of one person and of a kind that
    /// merges become one digest.
    /// - Returns: the undeclared kinds, by notice; those notices do not change.
    package func decide(
        _ notices: [Int64], now: Date, in transaction: Transaction
    ) async throws -> [Int64: String] {
        let now = Instant(date: now)
        let found = try await transaction.query(
            NoticePlannerStatements.takeUndecided,
            [.int64Array(Set(notices).sorted()), .timestamp(now)]
        ).map(Undecided.init)
        var undeclared: [Int64: String] = [:]
        var known: [Undecided] = []
        var kinds: [NoticeKind] = []
        for each in found {
            if let kind = catalogue.kinds[each.intent.kind] {
                known.append(each)
                kinds.append(kind)
            } else {
                undeclared[each.notice] = each.intent.kind
            }
        }
        guard !known.isEmpty else { return undeclared }
        let facts = try await facts(
            known.map(\.intent), kinds, notices: known.map(\.notice), now: now, in: transaction)
        let (plans, digests) = try rule(known, kinds, facts, now: now)
        let inserted = try await insert(digests, now: now, in: transaction)
        let merged = plans.map { plan -> Int64? in
            if case .merged(let place) = plan.fate { inserted[place].noticeID } else { nil }
        }
        try await update(plans, mergedInto: merged, now: now, in: transaction)
        try await persist(plans + inserted, now: now, in: transaction)
        return undeclared
    }

    /// Returns a plan for each notice, and the digests into which some of them merge.
    private func rule(
        _ undecided: [Undecided], _ kinds: [NoticeKind], _ facts: Facts, now: Instant
    ) throws -> (plans: [NoticePlan], digests: [NoticePlan]) {
        var facts = facts
        var plans: [NoticePlan?] = Array(repeating: nil, count: undecided.count)
        var digests: [NoticePlan] = []
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
                let plan = plan(
                    intent, kind, notice: undecided[place].notice, person,
                    facts.history(place, intent), now)
                plans[place] = plan
                if places.count > 1, !plan.channels.isEmpty {
                    together.append(place)
                } else {
                    facts.note(plan, now: now)
                }
            }
            if together.count > 1, let person = facts.people[undecided[together[0]].intent.personID]
            {
                let digest = try digest(together.compactMap { plans[$0] }, person, now)
                for place in together { plans[place]?.fate = .merged(into: digests.count) }
                facts.note(digest, now: now)
                digests.append(digest)
            } else if let place = together.first, let plan = plans[place] {
                facts.note(plan, now: now)
            }
        }
        return (plans.compactMap(\.self), digests)
    }

    /// Returns the plan for a recorded notice.
    ///
    /// Drops one whose data do not fit its templates, so that it does not block the others.
    private func plan(
        _ intent: Intent, _ kind: NoticeKind, notice: Int64, _ person: PersonFacts,
        _ history: SubjectHistory, _ now: Instant
    ) -> NoticePlan {
        var plan: NoticePlan
        do {
            plan = try rule(intent, kind, person: person, history: history, now: now)
            // notification.intend() has checked the secrets.
            for channel in plan.channels where channel != .inbox && kind.secrets.isEmpty {
                _ = try catalogue.wording.words(
                    of: kind.name, on: channel, data: intent.data, zone: person.zone)
            }
        } catch {
            plan = NoticePlan(intent, kind, .drop("cannot render the notice: \(error)"))
        }
        plan.noticeID = notice
        return plan
    }

    /// Returns the digest of several notices.
    private func digest(
        _ plans: [NoticePlan], _ person: PersonFacts, _ now: Instant
    ) throws -> NoticePlan {
        let first = plans[0]
        guard let kind = first.kind.digest, let field = first.kind.listedInDigest else {
            throw JobError.invalid("\(first.kind.name) does not merge")
        }
        let items = try plans.map { plan in
            try JSONDecoder().decode([String: DigestItem].self, from: Data(plan.intent.data))[
                field]?.text ?? ""
        }
        let data = try JSONEncoder().encode(DigestFacts(count: plans.count, items: items))
        let intent = Intent(
            kind.name, to: person.id, of: kind.name, data: [UInt8](data),
            dedupeKey: "digest:\(first.noticeID ?? 0):\(now.microseconds)",
            expiresAt: plans.map(\.intent.expiresAt).max() ?? now)
        var digest = NoticePlan(intent, kind, .send(first.channels))
        digest.subjects = plans.flatMap(\.subjects)
        digest.cooldown = first.kind.cooldown
        digest.mustLeave = first.kind.mustLeave
        try attach(&digest, person)
        return digest
    }
}

private struct DigestFacts: Encodable {
    var count: Int
    var items: [String]
}

/// The text of a fact of any type in a digest.
private struct DigestItem: Decodable {
    var text: String

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self.text = text
        } else if let number = try? value.decode(Double.self) {
            text = Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        } else {
            text = ""
        }
    }
}
