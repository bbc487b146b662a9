import Errand
package import ErrandPostgres

/// The texts of a sending, and whom it is for.
package struct SendingDraft: Sendable {
    /// `company.news` or `company.terms`.
    package var kind: String
    /// `all`, `list` or `app:NAME`.
    package var audience: String
    package var headline: String
    package var summary: String
    package var body: String
    /// Of terms.
    package var version: String?
    /// Of a list.
    package var people: [Int64]?

    package init(
        kind: String, audience: String, headline: String, summary: String, body: String,
        version: String? = nil, people: [Int64]? = nil
    ) {
        self.kind = kind
        self.audience = audience
        self.headline = headline
        self.summary = summary
        self.body = body
        self.version = version
        self.people = people
    }

    /// The first arguments of `news.draft` and `news.expect_draft`.
    var parameters: [Parameter] {
        [
            .text(kind), .text(audience), .text(headline), .text(summary), .text(body),
            .optional(version), people.map { .int64Array($0) } ?? .null,
        ]
    }
}

/// Why a sending cannot be changed so.
package enum SendingError: Error, Equatable, CustomStringConvertible {
    case unknown(Int64)
    /// It is in another state than the change needs.
    case state(Int64, String)
    /// Another sending has the same text for the same people.
    case same(as: Int64)
    /// A part of the draft is wrong.
    case invalid(String)

    /// What the functions of the schema refuse; any other error as it is.
    static func of(_ error: PostgresError) -> any Error {
        guard case .server(let server) = error, ["22023", "23503"].contains(server.sqlState)
        else { return error }
        return SendingError.invalid(server.message)
    }

    package var description: String {
        switch self {
        case .unknown(let id): "there is no sending \(id)"
        case .state(let id, "draft"): "sending \(id) is a draft"
        case .state(let id, "running"): "sending \(id) is running"
        case .state(let id, let state): "sending \(id) is \(state)"
        case .same(let other):
            "sending \(other) of the last 7 days has the same text for the same people"
        case .invalid(let words): words
        }
    }
}

/// What operators do with sendings, each with its line of the audit log.
///
/// - Throws: ``SendingError`` for what the schema refuses.
package struct SendingChanges: Sendable {
    private let session: Session
    private let actor: String

    package init(session: Session, actor: String) {
        self.session = session
        self.actor = actor
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (isolated Session) throws -> Value
    ) async throws -> Value {
        do {
            return try await session.transaction { session in try body(session) }
        } catch let error as PostgresError {
            throw SendingError.of(error)
        }
    }

    private func audit(_ action: String, _ id: Int64, _ reason: String?) -> Statement {
        AuditLine(
            operatorName: actor, action: "news \(action)", subject: "sending \(id)", reason: reason
        ).statement
    }

    private static let draft = "SELECT news.draft($1, $2, $3, $4, $5, $6, $7, $8)"
    private static let start = "SELECT reason, other FROM news.start($1, $2)"

    /// Drafts a sending, and starts it at once if asked; returns its id.
    package func draft(
        _ draft: SendingDraft, starting: Bool = false, reason: String? = nil
    ) async throws -> Int64 {
        try await run { session in
            let id = try session.query(
                Self.draft, draft.parameters + [.text(actor)]
            ).int64(0, 0)
            _ = try session.pipeline([audit("draft", id, reason)])
            if starting { try start(id, reason, session) }
            return id
        }
    }

    /// Starts a draft.
    package func start(_ id: Int64, reason: String? = nil) async throws {
        try await run { session in try start(id, reason, session) }
    }

    private func start(_ id: Int64, _ reason: String?, _ session: isolated Session) throws {
        let row = try session.query(Self.start, [.int64(id), .text(actor)]).first
        guard let row else { throw PostgresError.decoding("news.start: no row") }
        if let other = try row.optionalInt64("other") { throw SendingError.same(as: other) }
        try Self.check(try row.text("reason"), id)
        _ = try session.pipeline([audit("send", id, reason)])
    }

    /// A change of a sending that is under way.
    package enum Action: String, Sendable {
        case pause, resume, cancel
    }

    /// Pauses, resumes or cancels a sending.
    package func change(_ id: Int64, _ action: Action, reason: String? = nil) async throws {
        try await run { session in
            let answer = try session.query("SELECT news.\(action.rawValue)($1)", [.int64(id)])
            try Self.check(try answer.text(0, 0), id)
            _ = try session.pipeline([audit(action.rawValue, id, reason)])
        }
    }

    private static func check(_ answer: String, _ id: Int64) throws {
        switch answer {
        case "ok": break
        case "unknown": throw SendingError.unknown(id)
        default: throw SendingError.state(id, answer)
        }
    }
}
