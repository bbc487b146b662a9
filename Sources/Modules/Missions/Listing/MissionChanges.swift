import Errand
package import ErrandPostgres

/// What operators do to missions and shoppers, each with its line of the audit.
///
/// - Throws: ``MissionError`` for what the schema refuses.
package struct MissionChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    /// What a reviewer says of a submission.
    package enum Verdict: String, Sendable, CaseIterable {
        /// It is paid.
        case approve
        /// Something is missing: it goes back to the shopper.
        case `return`
        /// It is worth nothing.
        case reject
    }

    /// Why a submission is returned or rejected.
    package enum ReviewCode: String, Sendable, CaseIterable {
        /// People can be recognized: the results of the tasks are deleted at once.
        case faces
        case wrongPlace = "wrong_place"
        case unclear, copied, incomplete
    }

    // Behind one who waits for a lock others wait too: not for long.
    private static let limit = Statement("SET LOCAL lock_timeout = '5s'")

    private func run<Value: Sendable>(
        _ action: String, _ subject: String, reason: String?, _ sql: String,
        _ parameters: [Parameter], read: @escaping @Sendable (Rows) throws -> Value
    ) async throws -> Value {
        let line = AuditLine(
            operatorName: actor, action: action, subject: subject, reason: reason)
        do {
            return try await session.transaction { session in
                let rows = try session.pipeline([Self.limit, Statement(sql, parameters)])
                let value = try read(rows[1])
                _ = try session.pipeline([line.statement])
                return value
            }
        } catch let error as PostgresError {
            if let refusal = MissionError(error) { throw refusal }
            throw error
        }
    }

    /// Sends a shopper to a mission; the assignment's id.
    ///
    /// - Parameters:
    ///   - isAccepted: the shopper has agreed elsewhere.
    ///   - isForced: whatever they declined before, however far it is, and whatever their quality.
    package func offer(
        _ mission: Int64, to shopper: Int64, isAccepted: Bool, isForced: Bool, reason: String?,
        now: Instant
    ) async throws -> Int64 {
        try await run(
            "mission offer", "mission \(mission) to person \(shopper)", reason: reason,
            """
            SELECT assignment_id, refused FROM missions.offer($1, $2, at => $3, actor => $4,
                is_accepted => $5, is_forced => $6)
            """,
            [
                .int64(mission), .int64(shopper), .timestamp(now), .text(actor),
                .bool(isAccepted), .bool(isForced),
            ]
        ) { rows in
            guard let row = rows.first, let id = try row.optionalInt64("assignment_id") else {
                let why = try rows.first?.optionalTextArray("refused") ?? []
                if why == ["unknown"] {
                    throw MissionError.notFound("there is no mission \(mission)")
                }
                throw MissionError.refused(
                    "mission \(mission) cannot be offered to person \(shopper): "
                        + why.joined(separator: ", "))
            }
            return id
        }
    }

    /// Takes an assignment back; false when that was done before.
    package func withdraw(
        _ assignment: Int64, reason: String, now: Instant
    ) async throws -> Bool {
        try await run(
            "mission withdraw", "assignment \(assignment)", reason: reason,
            "SELECT missions.withdraw($1, $2, $3, $4)",
            [.int64(assignment), .text(actor), .text(reason), .timestamp(now)]
        ) { try $0.bool(0, 0) }
    }

    /// Says what a submission is worth; false when the same was said before.
    ///
    /// - Parameters:
    ///   - code: of a return or rejection.
    ///   - tasks: the tasks that the code is about; needed with `faces`.
    package func review(
        _ assignment: Int64, _ verdict: Verdict, code: ReviewCode? = nil, tasks: [Int32] = [],
        reason: String?, now: Instant
    ) async throws -> Bool {
        let said = [verdict.rawValue, code?.rawValue].compactMap { $0 }.joined(separator: " ")
        return try await run(
            "mission review", "assignment \(assignment): \(said)", reason: reason,
            "SELECT missions.review($1, $2, $3, $4, $5, $6, $7)",
            [
                .int64(assignment), .text(actor), .text(verdict.rawValue), .optional(reason),
                .timestamp(now), .optional(code?.rawValue), .int32Array(tasks),
            ]
        ) { try $0.bool(0, 0) }
    }

    /// Deletes the results of tasks in which people can be recognized, in any state; false when
    /// there were none.
    package func redact(
        _ assignment: Int64, tasks: [Int32], reason: String?
    ) async throws -> Bool {
        let numbers = tasks.map { String($0) }.joined(separator: ", ")
        return try await run(
            "mission redact", "assignment \(assignment): tasks \(numbers)", reason: reason,
            "SELECT missions.redact($1, $2, $3)",
            [.int64(assignment), .text(actor), .int32Array(tasks)]
        ) { try $0.bool(0, 0) }
    }

    /// Grants the refused coupons of an assignment; how many were granted, and refused again.
    package func grantRefused(
        _ assignment: Int64, reason: String?
    ) async throws -> (granted: Int, refused: Int) {
        try await run(
            "mission grant", "assignment \(assignment)", reason: reason,
            "SELECT granted, refused FROM missions.grant_refused($1)", [.int64(assignment)]
        ) { (Int(try $0.int32(0, 0)), Int(try $0.int32(0, 1))) }
    }

    /// Gives up the refused coupons of an assignment; how many.
    package func giveUpRefused(_ assignment: Int64, reason: String?) async throws -> Int {
        try await run(
            "mission grant", "assignment \(assignment): give up", reason: reason,
            "SELECT missions.give_up_refused($1)", [.int64(assignment)]
        ) { Int(try $0.int32(0, 0)) }
    }

    /// Keeps a mission from the schedule, or gives it back; false when it was so already.
    package func lock(_ mission: Int64, _ isLocked: Bool, reason: String?) async throws -> Bool {
        try await run(
            isLocked ? "mission lock" : "mission unlock", "mission \(mission)", reason: reason,
            "SELECT missions.lock_mission($1, $2)", [.int64(mission), .bool(isLocked)]
        ) { try $0.bool(0, 0) }
    }

    /// Ends a mission before its time; false when it is not open any more.
    package func cancel(_ mission: Int64, reason: String) async throws -> Bool {
        try await run(
            "mission cancel", "mission \(mission)", reason: reason,
            "SELECT missions.cancel_mission($1, $2)", [.int64(mission), .text(reason)]
        ) { try $0.bool(0, 0) }
    }

    /// What is decided about a person by hand.
    package enum ShopperAction: String, Sendable {
        case hire, refuse, suspend
    }

    /// Decides about a person; false when it was so already.
    package func decide(
        _ action: ShopperAction, _ person: Int64, reason: String?
    ) async throws -> Bool {
        try await run(
            "shopper \(action.rawValue)", "person \(person)", reason: reason,
            "SELECT missions.\(action.rawValue)($1, $2, $3)",
            [.int64(person), .text(actor), .optional(reason)]
        ) { try $0.bool(0, 0) }
    }
}
