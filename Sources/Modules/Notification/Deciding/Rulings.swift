import FoundationEssentials
import Errand
import ErrandPostgres

/// How rulings are written.
extension Teller {
    /// Releases are spread over so many seconds, so that those of one hour do not come as one.
    static let spread: Int64 = 300

    /// Records them; the ids of those whose dedupe keys were free stand in the result.
    func insert(
        _ rulings: [Ruling], now: Instant, in transaction: Transaction
    ) async throws -> [Ruling] {
        guard !rulings.isEmpty else { return [] }
        let marks = rulings.map { $0.mark(isParked: batch != nil) }
        let rows = try await transaction.query(
            TellerStatements.insert,
            [
                .int64Array(rulings.map(\.intent.personID)), .textArray(rulings.map(\.kind.name)),
                .textArray(rulings.map(\.intent.subject)), .jsonArray(rulings.map(\.intent.data)),
                .textArray(rulings.map(\.intent.dedupeKey)),
                .timestampArray(rulings.map(\.intent.expiresAt)),
                .nullableInt64Array(rulings.map(\.intent.senderID)),
                .textArray(marks.map(\.status)), .nullableTextArray(marks.map(\.reason)),
                .timestampArray(marks.map(\.holdUntil)),
                .nullableTextArray(marks.map(\.holdReason)),
                .textArray(rulings.map(\.kind.app.name)),
                .textArray(rulings.map(\.kind.urgency.rawValue)), .timestamp(now), .optional(job),
            ])
        var ids: [String: Int64] = [:]
        for row in rows { ids[try row.text(1)] = try row.int64(0) }
        return rulings.map { ruling in
            var ruling = ruling
            ruling.noticeID = ids[ruling.intent.dedupeKey]
            return ruling
        }
    }

    /// Records what was decided about notices that have rows.
    func update(
        _ rulings: [Ruling], mergedInto: [Int64?], now: Instant, in transaction: Transaction
    ) async throws {
        guard !rulings.isEmpty else { return }
        let marks = rulings.map { $0.mark(isParked: batch != nil) }
        try await transaction.query(
            TellerStatements.update,
            [
                .int64Array(rulings.compactMap(\.noticeID)), .textArray(marks.map(\.status)),
                .nullableTextArray(marks.map(\.reason)), .timestampArray(marks.map(\.holdUntil)),
                .nullableTextArray(marks.map(\.holdReason)),
                .textArray(rulings.map(\.kind.app.name)),
                .textArray(rulings.map(\.kind.urgency.rawValue)),
                .nullableInt64Array(mergedInto), .timestamp(now), .optional(job),
            ])
    }

    /// Makes the deliveries, items, cooldowns and jobs of rulings that have rows.
    func carryOut(
        _ rulings: [Ruling], now: Instant, in transaction: Transaction
    ) async throws {
        let ways = rulings.flatMap { ruling in
            ruling.ways.map { (ruling: ruling, provider: $0.provider, device: $0.device) }
        }
        var statements: [Statement] = []
        if !ways.isEmpty {
            statements.append(
                Statement(
                    TellerStatements.deliver,
                    [
                        .int64Array(ways.compactMap(\.ruling.noticeID)),
                        .nullableInt64Array(ways.map(\.device)),
                        .textArray(ways.map(\.provider)), .timestamp(now),
                    ]))
        }
        statements += inbox(rulings, now: now) + cooldowns(rulings, now: now)
        if !statements.isEmpty {
            let rows = try await transaction.pipeline(statements)
            if !ways.isEmpty {
                let jobs = try zip(rows[0], ways).map { row, way in
                    (try row.int64(0), way.provider, way.ruling.kind.urgency)
                }
                try await enqueue(jobs, in: transaction)
            }
        }
        try await hold(rulings, now: now, in: transaction)
    }

    private func inbox(_ rulings: [Ruling], now: Instant) -> [Statement] {
        let items = rulings.filter(\.hasItem)
        guard !items.isEmpty else { return [] }
        var parameters: [Parameter] = [
            .int64Array(items.compactMap(\.noticeID)),
            .int64Array(items.map(\.intent.personID)),
            .textArray(items.map(\.kind.app.name)),
            .textArray(items.compactMap(\.words?.title)),
            .textArray(items.compactMap(\.words?.text)),
        ]
        guard let batch else {
            parameters.append(.timestamp(now))
            return [Statement(TellerStatements.putIntoInbox, parameters)]
        }
        parameters += [.boolArray(items.map(\.ways.isEmpty)), .text(batch)]
        return [Statement(TellerStatements.parkItems, parameters)]
    }

    private func cooldowns(_ rulings: [Ruling], now: Instant) -> [Statement] {
        var begun: [String: (person: Int64, subject: String, until: Instant, stays: Bool)] = [:]
        for ruling in rulings where !ruling.channels.isEmpty {
            guard let cooldown = ruling.cooldown else { continue }
            for subject in ruling.subjects {
                begun["\(ruling.intent.personID) \(subject)"] = (
                    ruling.intent.personID, subject, now.adding(cooldown), ruling.mustLeave
                )
            }
        }
        guard !begun.isEmpty else { return [] }
        let all = Array(begun.values)
        return [
            Statement(
                Cooldowns.begin,
                [
                    .int64Array(all.map(\.person)), .textArray(all.map(\.subject)),
                    .timestampArray(all.map(\.until)), .boolArray(all.map(\.stays)),
                    .timestamp(now), .double(Cooldowns.longestStay),
                ]),
            Cooldowns.forget(now: now.date),
        ]
    }

    /// The jobs that make deliveries: in the queue of the provider, urgent ones first.
    private func enqueue(
        _ deliveries: [(id: Int64, provider: String, urgency: NoticeKind.Urgency)],
        in transaction: Transaction
    ) async throws {
        let groups = Dictionary(grouping: deliveries) { [$0.provider, $0.urgency.rawValue] }
        for group in groups.values {
            let (provider, urgency) = (group[0].provider, group[0].urgency)
            if let batch {
                let ids = group.map(\.id)
                let statement =
                    provider == Provider.mail
                    ? park(EmailDelivery.self, ids, provider, urgency, in: batch)
                    : park(PushDelivery.self, ids, provider, urgency, in: batch)
                _ = try await transaction.pipeline([statement])
                continue
            }
            let options = EnqueueOptions(queue: provider, priority: urgency.priority)
            // No deadline: the job itself sees that its notice has expired, and says so.
            if provider == Provider.mail {
                try await client.enqueue(
                    group.map { EmailDelivery(deliveryID: $0.id) }, options, in: transaction)
            } else {
                try await client.enqueue(
                    group.map { PushDelivery(deliveryID: $0.id) }, options, in: transaction)
            }
        }
    }

    private func park<Work: DeliveryJob>(
        _ type: Work.Type, _ deliveries: [Int64], _ queue: String, _ urgency: NoticeKind.Urgency,
        in batch: String
    ) -> Statement {
        Statement(
            TellerStatements.parkDeliveries,
            [
                .int64Array(deliveries), .text(batch), .text(queue), .text(Work.kind),
                .int16(Int16(Work.argsVersion)), .int16(urgency.priority.rawValue),
                .int16(Int16(Work.options.maxAttempts)), .optional(job),
            ])
    }

    private func hold(
        _ rulings: [Ruling], now: Instant, in transaction: Transaction
    ) async throws {
        let jobs = rulings.compactMap { ruling -> (job: DecideNotice, at: Date)? in
            guard case .decided(.hold(let until, _)) = ruling.fate, let id = ruling.noticeID else {
                return nil
            }
            // All of a person come at once: they may become one.
            let share = Int64(truncatingIfNeeded: ruling.intent.personID &* 7_919)
            let late = until.adding(.seconds(Int64(share.magnitude % UInt64(Self.spread))))
            let at = late < ruling.intent.expiresAt ? late : until
            return (DecideNotice(noticeID: id), at.date)
        }
        try await client.enqueue(jobs, in: transaction)
    }
}

extension NoticeKind.Urgency {
    fileprivate var priority: Priority {
        switch self {
        case .urgent: .critical
        case .normal: .normal
        case .promotional: .low
        }
    }
}

extension Ruling {
    /// What a ruling is in the table of notices.
    struct Mark {
        var status: String
        var reason: String?
        var holdUntil: Instant?
        var holdReason: String?
    }

    /// - Parameter isParked: whether nothing of it goes out before its batch is released.
    func mark(isParked: Bool) -> Mark {
        switch fate {
        case .merged: Mark(status: "merged", reason: "told together with others")
        case .decided(.tell):
            Mark(status: ways.isEmpty && !(isParked && hasItem) ? "sent" : "pending")
        case .decided(.hold(let until, let why)):
            Mark(status: "held", holdUntil: until, holdReason: why)
        case .decided(.drop(let why)): Mark(status: "dropped", reason: why)
        case .decided(.expire(let why)): Mark(status: "expired", reason: why)
        case .decided(.refuse(let until, let why)):
            Mark(status: "refused", reason: why, holdUntil: until)
        }
    }
}
