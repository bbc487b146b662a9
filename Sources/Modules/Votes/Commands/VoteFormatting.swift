import ErrandCommand
import ErrandCrypto
import ErrandPostgres
import ErrandTerminal

/// Formatting shared by the vote commands.
enum VoteFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The vote's id")
    static let note = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "The reason, for the audit log")

    /// Returns a vote with its options.
    static func vote(
        _ id: Int, _ session: Session
    ) async throws -> (vote: VoteRecord, options: [VoteOption]) {
        guard let found = try await VoteRows(session: session).vote(Int64(id)) else {
            throw CommandFailure(
                exit: .notFound, message: "there is no vote \(id)",
                hint: "'errand vote ls' lists the votes")
        }
        return found
    }

    /// Runs `body`, and translates a refusal of the schema into a `CommandFailure`.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as VoteError {
            switch error {
            case .notFound(let words): throw CommandFailure(exit: .notFound, message: words)
            case .conflict(let words): throw CommandFailure(exit: .conflict, message: words)
            case .invalid(let words): throw CommandFailure(exit: .usage, message: words)
            }
        }
    }

    static func state(_ state: VoteState) -> Cell {
        let style: Style =
            switch state {
            case .open: .cyan
            case .closed, .counted: .dim
            case .review: .yellow
            case .published: .green
            case .cancelled: .dim
            }
        return .marked(state.rawValue, style)
    }

    /// Returns a vote as a record; scripts rely on the field names.
    static func record(_ vote: VoteRecord) -> Record {
        Record([
            ("id", .id(Int(vote.id))), ("subject", .text(vote.subject)),
            ("state", state(vote.state)), ("initiator", .id(Int(vote.initiator))),
            ("initiator_name", .optional(vote.initiatorName) { .text($0) }),
            ("opens_at", vote.opensAt.cell), ("closes_at", vote.closesAt.cell),
            ("expected_voters", .optional(vote.expected) { .int($0) }),
            ("participants", .int(vote.participants)),
            ("has_password", .flag(vote.hasPassword)),
            ("asks_address", .flag(vote.asksAddress)),
            ("place", .optional(vote.place) { .text($0) }),
            ("closed_at", .optional(vote.closedAt) { $0.cell }),
            ("closed_for", .optional(vote.closedFor) { .text($0) }),
            ("review_until", .optional(vote.reviewUntil) { $0.cell }),
            ("open_exceptions", .int(vote.openExceptions)),
            ("published_at", .optional(vote.publishedAt) { $0.cell }),
            ("cast", .optional(vote.cast) { .int($0) }),
            ("ballots", .optional(vote.ballots) { .int($0) }),
            ("has_unresolved", .flag(vote.hasUnresolved)),
            ("root", .optional(vote.root) { .text(Hexadecimal.encode($0)) }),
        ])
    }

    /// Prints a vote with its options, and their ballots once the result is published.
    static func show(_ id: Int, _ session: Session, _ invocation: Invocation) async throws {
        let (vote, options) = try await vote(id, session)
        var record = record(vote)
        record.append(
            "options",
            .records(
                options.map { option in
                    Record([
                        ("number", .int(option.number)), ("label", .text(option.label)),
                        ("ballots", .optional(option.ballots) { .int($0) }),
                    ])
                }))
        try invocation.output.show(record)
    }
}
