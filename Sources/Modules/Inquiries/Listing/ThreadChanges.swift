import Errand
package import ErrandPostgres

/// Why a thread cannot be answered or closed.
package enum ThreadError: Error, Equatable, CustomStringConvertible {
    case unknown(Int64)
    /// The person gets no answers any more.
    case refused(Int64, String)
    /// The request has recorded another answer.
    case repeated(String)
    /// The text is wrong, or no program has declared the notices.
    case invalid(String)

    package var description: String {
        switch self {
        case .unknown(let id): "there is no thread \(id)"
        case .refused(let id, "blocked"):
            "the person of thread \(id) is blocked until their erasure, and gets no answer"
        case .refused(let id, _): "the person of thread \(id) is under 16, and gets no answer"
        case .repeated(let words), .invalid(let words): words
        }
    }
}

/// What agents do, each with its line of the audit log, which has no text of a message.
///
/// - Throws: ``ThreadError`` for what the schema refuses.
package struct ThreadChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    private func run<Value: Sendable>(
        _ thread: Int64, _ body: @escaping @Sendable (isolated Session) throws -> Value
    ) async throws -> Value {
        do {
            return try await session.transaction { session in try body(session) }
        } catch let error as PostgresError {
            guard case .server(let server) = error else { throw error }
            switch server.sqlState {
            case "23503": throw ThreadError.unknown(thread)
            case "23505": throw ThreadError.repeated(server.message)
            case "22023", "RU002": throw ThreadError.invalid(server.message)
            default: throw error
            }
        }
    }

    private func audit(_ action: String, _ thread: Int64, _ reason: String?) -> Statement {
        AuditLine(
            operatorName: actor, action: "inquiry \(action)", subject: "thread \(thread)",
            reason: reason
        ).statement
    }

    private static let answer = """
        SELECT reason, message FROM inquiries.answer($1, $2, $3, $4)
        """

    /// Answers a thread, and returns the id of the message.
    ///
    /// - Parameter request: names the answer; the same one again changes nothing. Nil: the same
    ///   text again changes nothing, until the person writes again.
    package func answer(_ thread: Int64, _ text: String, request: String?) async throws -> Int64 {
        try await run(thread) { session in
            let row = try session.query(
                Self.answer, [.int64(thread), .text(actor), .text(text), .optional(request)]
            ).first
            guard let row else { throw PostgresError.decoding("inquiries.answer: no row") }
            guard let message = try row.optionalInt64("message") else {
                throw ThreadError.refused(thread, try row.text("reason"))
            }
            _ = try session.pipeline([audit("answer", thread, nil)])
            return message
        }
    }

    /// Closes a thread; returns whether it was open.
    package func close(_ thread: Int64, reason: String?) async throws -> Bool {
        try await run(thread) { session in
            let isNew = try session.query(
                "SELECT inquiries.close($1, $2)", [.int64(thread), .text(actor)]
            ).bool(0, 0)
            if isNew { _ = try session.pipeline([audit("close", thread, reason)]) }
            return isNew
        }
    }
}
