package import ErrandPostgres

/// Finds shoppers for missions, and offers.
///
/// One at a time in a database. The offers are made in transactions of their own, each pair checked
/// again by `missions.offer_many`: a process that is killed between two of them leaves slots that
/// the next run finds free.
package struct Assigner: Sendable {
    /// How long the search may take before it goes on with the best so far.
    package static let limit = Duration.seconds(20)
    /// Offers of one transaction: those who are in it wait for each other.
    private static let batch = 200

    private let now: Instant
    private let limit: Duration
    /// Offers are as much later than `now` as it takes to come to them.
    private let created = ContinuousClock.now

    package init(now: Instant, limit: Duration = Self.limit) {
        self.now = now
        self.limit = limit
    }

    /// What a run has done.
    package struct Result: Sendable {
        package var plan = AssignmentPlan()
        /// Pairs that came about.
        package var offered: [AssignmentPlan.Pair] = []
        /// Pairs that did not come about: something had changed meanwhile.
        package var refused: [Refusal] = []
        package var took = Duration.zero

        /// Whether somebody held what was to be offered, all the time.
        package var metBusyOnes: Bool { refused.contains { $0.reason == Assigner.busy } }
    }

    /// An offer that did not come about.
    package struct Refusal: Sendable {
        package let pair: AssignmentPlan.Pair
        /// As `missions.objections` says it, or `busy`: somebody held one of the two.
        package let reason: String
    }

    private static let lock = """
        SELECT count(*) = 1 FROM (
            SELECT FROM missions.assigning FOR UPDATE SKIP LOCKED
        ) AS held
        """
    private static let begin = "SET LOCAL idle_in_transaction_session_timeout = 0"

    /// Offers what is best; nil when another one is at it.
    ///
    /// - Parameters:
    ///   - only: that mission alone; nil for all that are open.
    ///   - database: lends the session that holds the lock.
    ///   - offers: lends those that offer; another pool, or one that lends several.
    package func assign(
        _ only: Int64? = nil, locking database: Pool, offering offers: Pool
    ) async throws -> Result? {
        let began = ContinuousClock.now
        return try await database.transaction { transaction -> Result? in
            let rows = try await transaction.pipeline([
                Statement(Self.begin), Statement(Self.lock),
            ])
            guard try rows[1].bool(0, 0) else { return nil }
            var result = Result()
            result.plan = try await plan(only, in: transaction)
            try await offer(&result, in: offers)
            result.took = began.duration(to: .now)
            let last = result
            try await offers.withSession { _ = try await $0.pipeline(notes(last)) }
            return result
        }
    }

    /// What would be offered.
    package func plan(
        _ only: Int64? = nil, greedily isGreedy: Bool = false, in transaction: Transaction
    ) async throws -> AssignmentPlan {
        let question = try await AssignmentRows(transaction: transaction, now: now).question(only)
        var plan = try await SearchRoom().plan(question, greedily: isGreedy, within: limit)
        plan.leavesOut = question.leavesOut
        return plan
    }

    private static let offer = """
        SELECT place, assignment_id, refused FROM missions.offer_many($1, $2, $3, $4, $5)
        """

    private static let busy = "busy"
    /// The retries for a row that another session has locked: apps release it soon.
    private static let attempts = 4
    private static let pause = Duration.milliseconds(250)

    private func offer(_ result: inout Result, in offers: Pool) async throws {
        var pairs = result.plan.pairs
        for attempt in 1...Self.attempts {
            let refused = try await offer(pairs, &result, in: offers)
            result.refused += refused.filter { $0.reason != Self.busy || attempt == Self.attempts }
            pairs = refused.filter { $0.reason == Self.busy }.map(\.pair)
            guard !pairs.isEmpty, attempt < Self.attempts else { break }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: pairs that did not come about.
    private func offer(
        _ pairs: [AssignmentPlan.Pair], _ result: inout Result, in offers: Pool
    ) async throws -> [Refusal] {
        var refusals: [Refusal] = []
        for start in stride(from: 0, to: pairs.count, by: Self.batch) {
            let some = Array(pairs[start..<min(start + Self.batch, pairs.count)])
            let rows = try await offers.withSession { session in
                try await session.query(
                    Self.offer,
                    [
                        .int64Array(some.map(\.mission)), .int64Array(some.map(\.shopper)),
                        .int64Array(some.map(\.score)),
                        .floatArray(some.map { Float($0.distance) }),
                        .timestamp(now.adding(created.duration(to: .now))),
                    ])
            }
            for row in rows {
                let pair = some[Int(try row.int32("place")) - 1]
                guard let refused = try row.optionalText("refused") else {
                    result.offered.append(pair)
                    continue
                }
                refusals.append(Refusal(pair: pair, reason: refused))
            }
        }
        return refusals
    }

    // MARK: What is noted

    private static let reasons = """
        WITH results AS (
            SELECT m.id, u.reason FROM unnest($1::bigint[], $2::text[]) AS u (id, reason)
            JOIN missions.missions m ON m.id = u.id
            WHERE m.unfilled_reason IS DISTINCT FROM u.reason
            FOR NO KEY UPDATE OF m SKIP LOCKED
        )
        UPDATE missions.missions m SET unfilled_reason = t.reason FROM results t WHERE m.id = t.id
        """
    private static let run = """
        INSERT INTO missions.runs (started_at, total_score, bound, missions, slots, shoppers,
            candidates, offered, seconds, is_optimal)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """
    private static let forget = """
        DELETE FROM missions.runs WHERE started_at < $1::timestamptz - interval '90 days'
        """

    private func notes(_ result: Result) -> [Statement] {
        let plan = result.plan
        guard plan.missions > 0 else { return [] }
        // Who has a pair and no other reason is filled.
        var reasons: [Int64: String?] = [:]
        for pair in plan.pairs { reasons[pair.mission] = .some(nil) }
        for free in plan.unfilled { reasons[free.mission] = free.reason }
        for refusal in result.refused {
            reasons[refusal.pair.mission] = "refused: \(refusal.reason)"
        }
        let order = reasons.keys.sorted()
        let score = result.offered.reduce(0) { $0 + $1.score }
        return [
            Statement(
                Self.reasons,
                [
                    .int64Array(order),
                    .nullableTextArray(order.map { reasons[$0].flatMap(\.self) }),
                ]),
            Statement(
                Self.run,
                [
                    .timestamp(now), .int64(score),
                    .int64(plan.bound),
                    .int32(Int32(plan.missions)), .int32(Int32(clamping: plan.slots)),
                    .int32(Int32(plan.shoppers)), .int32(Int32(plan.candidates)),
                    .int32(Int32(result.offered.count)), .float(Float(result.took / .seconds(1))),
                    .bool(score == plan.bound),
                ]),
            Statement(Self.forget, [.timestamp(now)]),
        ]
    }
}
