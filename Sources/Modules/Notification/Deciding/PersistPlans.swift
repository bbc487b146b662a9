import FoundationEssentials
import Errand
import ErrandPostgres

/// Writes plans to the database.
extension NoticePlanner {
    /// The seconds over which decisions about held notices are spread, so that they do not
    /// coincide.
    static let spread: Int64 = 300

    /// Inserts plans, and returns them with the ids of the new rows; nil if the dedupe key existed.
    func insert(
        _ plans: [NoticePlan], now: Instant, in transaction: Transaction
    ) async throws -> [NoticePlan] {
        guard !plans.isEmpty else { return [] }
        let marks = plans.map { $0.mark(isParked: batch != nil) }
        let rows = try await transaction.query(
            NoticePlannerStatements.insert,
            [
                .int64Array(plans.map(\.intent.personID)), .textArray(plans.map(\.kind.name)),
                .textArray(plans.map(\.intent.subject)), .jsonArray(plans.map(\.intent.data)),
                .textArray(plans.map(\.intent.dedupeKey)),
                .timestampArray(plans.map(\.intent.expiresAt)),
                .nullableInt64Array(plans.map(\.intent.senderID)),
                .textArray(marks.map(\.status)), .nullableTextArray(marks.map(\.reason)),
                .timestampArray(marks.map(\.holdUntil)),
                .nullableTextArray(marks.map(\.holdReason)),
                .textArray(plans.map(\.kind.app.name)),
                .textArray(plans.map(\.kind.urgency.rawValue)), .timestamp(now), .optional(job),
            ])
        var ids: [String: Int64] = [:]
        for row in rows { ids[try row.text(1)] = try row.int64(0) }
        return plans.map { plan in
            var plan = plan
            plan.noticeID = ids[plan.intent.dedupeKey]
            return plan
        }
    }

    /// Records the decisions about notices that have rows.
    func update(
        _ plans: [NoticePlan], mergedInto: [Int64?], now: Instant, in transaction: Transaction
    ) async throws {
        guard !plans.isEmpty else { return }
        let marks = plans.map { $0.mark(isParked: batch != nil) }
        try await transaction.query(
            NoticePlannerStatements.update,
            [
                .int64Array(plans.compactMap(\.noticeID)), .textArray(marks.map(\.status)),
                .nullableTextArray(marks.map(\.reason)), .timestampArray(marks.map(\.holdUntil)),
                .nullableTextArray(marks.map(\.holdReason)),
                .textArray(plans.map(\.kind.app.name)),
                .textArray(plans.map(\.kind.urgency.rawValue)),
                .nullableInt64Array(mergedInto), .timestamp(now), .optional(job),
            ])
    }

    /// Inserts the deliveries, inbox items, cooldowns and jobs of plans that have rows.
    func persist(
        _ plans: [NoticePlan], now: Instant, in transaction: Transaction
    ) async throws {
        let ways = plans.flatMap { plan in
            plan.ways.map { (plan: plan, provider: $0.provider, device: $0.device) }
        }
        var statements: [Statement] = []
        if !ways.isEmpty {
            statements.append(
                Statement(
                    NoticePlannerStatements.deliver,
                    [
                        .int64Array(ways.compactMap(\.plan.noticeID)),
                        .nullableInt64Array(ways.map(\.device)),
                        .textArray(ways.map(\.provider)), .timestamp(now),
                    ]))
        }
        statements += inbox(plans, now: now) + cooldowns(plans, now: now)
        if !statements.isEmpty {
            let rows = try await transaction.pipeline(statements)
            if !ways.isEmpty {
                let jobs = try zip(rows[0], ways).map { row, way in
                    (try row.int64(0), way.provider, way.plan.kind.priority)
                }
                try await enqueue(jobs, in: transaction)
            }
        }
        try await hold(plans, now: now, in: transaction)
    }

    private func inbox(_ plans: [NoticePlan], now: Instant) -> [Statement] {
        let items = plans.filter(\.hasItem)
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
            return [Statement(NoticePlannerStatements.putIntoInbox, parameters)]
        }
        parameters += [.boolArray(items.map(\.ways.isEmpty)), .text(batch)]
        return [Statement(NoticePlannerStatements.parkItems, parameters)]
    }

    private func cooldowns(_ plans: [NoticePlan], now: Instant) -> [Statement] {
        var begun: [String: (person: Int64, subject: String, until: Instant, stays: Bool)] = [:]
        for plan in plans where !plan.channels.isEmpty {
            guard let cooldown = plan.cooldown else { continue }
            for subject in plan.subjects {
                begun["\(plan.intent.personID) \(subject)"] = (
                    plan.intent.personID, subject, now.adding(cooldown), plan.mustLeave
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

    /// Enqueues the jobs of deliveries in the queue of the provider, by their priority.
    private func enqueue(
        _ deliveries: [(id: Int64, provider: String, priority: Priority)],
        in transaction: Transaction
    ) async throws {
        let groups = Dictionary(grouping: deliveries) { "\($0.priority.rawValue) \($0.provider)" }
        for group in groups.values {
            let (provider, priority) = (group[0].provider, group[0].priority)
            if let batch {
                let ids = group.map(\.id)
                let statement =
                    provider == Provider.mail
                    ? park(EmailDelivery.self, ids, provider, priority, in: batch)
                    : park(PushDelivery.self, ids, provider, priority, in: batch)
                _ = try await transaction.pipeline([statement])
                continue
            }
            let options = EnqueueOptions(queue: provider, priority: priority)
            // No deadline: the handler checks the expiry and records it.
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
        _ type: Work.Type, _ deliveries: [Int64], _ queue: String, _ priority: Priority,
        in batch: String
    ) -> Statement {
        Statement(
            NoticePlannerStatements.parkDeliveries,
            [
                .int64Array(deliveries), .text(batch), .text(queue), .text(Work.kind),
                .int16(Int16(Work.argsVersion)), .int16(priority.rawValue),
                .int16(Int16(Work.options.maxAttempts)), .optional(job),
            ])
    }

    private func hold(
        _ plans: [NoticePlan], now: Instant, in transaction: Transaction
    ) async throws {
        let jobs = plans.compactMap { plan -> (job: DecideNotice, at: Date)? in
            guard case .decided(.hold(let until, _)) = plan.fate, let id = plan.noticeID else {
                return nil
            }
            // All held notices of a person are due at once, so that they can merge.
            let share = Int64(truncatingIfNeeded: plan.intent.personID &* 7_919)
            let late = until.adding(.seconds(Int64(share.magnitude % UInt64(Self.spread))))
            let at = late < plan.intent.expiresAt ? late : until
            return (DecideNotice(noticeID: id), at.date)
        }
        try await client.enqueue(jobs, in: transaction)
    }
}

extension NoticeKind {
    /// The priority of its deliveries among those of the provider: codes first, then people's own
    /// affairs, then what everybody gets, such as changed terms, then promotional notices.
    fileprivate var priority: Priority {
        switch urgency {
        case .urgent: .critical
        case .normal: isMandatory ? .normal : .high
        case .promotional: .low
        }
    }
}

extension NoticePlan {
    /// The columns of a plan in the table of notices.
    struct Mark {
        var status: String
        var reason: String?
        var holdUntil: Instant?
        var holdReason: String?
    }

    /// - Parameter isParked: whether its deliveries and items wait for the release of a batch.
    func mark(isParked: Bool) -> Mark {
        switch fate {
        case .merged: Mark(status: "merged", reason: "merged with others")
        case .decided(.send):
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
