import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The options, errors and records that the commands of destruction and transfer share.
enum CustodyFormatting {
    static let reason = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "The reason, for the audit log")
    static let day = ValueFormat<String>("DATE", expected: "a date such as 2026-11-25") { text in
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let isDay =
            parts.map(\.utf8.count) == [4, 2, 2]
            && parts.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } }
        return isDay ? text : nil
    }

    /// Turns refusals of the schema's functions and of archives into command failures.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as PostgresError {
            throw failure(error) ?? error
        } catch let error as TransferError {
            throw failure(error)
        }
    }

    private static func failure(_ error: PostgresError) -> (any Error)? {
        guard case .server(let server) = error else { return nil }
        let exit: ExitCode
        switch (server.sqlState, server.detail) {
        case ("P0002", _): exit = .notFound
        case ("22023", _), ("22007", _), ("22008", _): exit = .usage
        case ("RU001", "wrong_state"), ("RU001", "open"), ("RU001", "not_empty"): exit = .conflict
        case ("RU001", _): exit = .refused
        default: return nil
        }
        return CommandFailure(exit: exit, message: server.message, hint: server.hint)
    }

    private static func failure(_ error: TransferError) -> CommandFailure {
        switch error {
        case .damaged(let words):
            CommandFailure(
                exit: .failed, message: "the archive is damaged: \(words)",
                hint: "nothing was imported; copy or export the archive again")
        case .wrongKey(let words):
            CommandFailure(
                exit: .refused, message: words,
                hint: "nothing was imported; use the key of the certificate of the export")
        case .unfit(let words):
            CommandFailure(
                exit: .refused, message: words,
                hint: "nothing was imported; install the same version and modules with "
                    + "'errand migrate'")
        }
    }

    /// The destruction of a command; throws if there is none.
    static func destruction(_ session: Session) async throws -> DestructionRecord {
        guard let found = try await DestructionRows(session: session).destruction(nil) else {
            throw CommandFailure(
                exit: .notFound, message: "no destruction is planned",
                hint: "'errand destruction plan --help' shows how to plan one")
        }
        return found
    }

    /// Prints a destruction with its steps.
    static func show(_ id: Int64, _ invocation: Invocation, _ session: Session) async throws {
        let rows = DestructionRows(session: session)
        guard let found = try await rows.destruction(id) else { return }
        let (steps, counts) = (try await rows.steps(id), try await rows.counts(id))
        try invocation.output.show(
            Record([
                ("destruction", .id(Int(found.id))), ("state", state(found.state)),
                ("people_notified_on", .text(found.notifiedOn)),
                ("keeps_ledger", .flag(found.keepsLedger)),
                ("context", .optional(found.context) { .text($0) }),
                ("folders", .list(found.folders)), ("accepted", .list(found.accepted)),
                ("reason", .optional(found.reason) { .text($0) }),
                ("planned_by", .text(found.plannedBy)), ("planned_at", found.plannedAt.cell),
                ("approved_by", .optional(found.approvedBy) { .text($0) }),
                ("approved_at", .optional(found.approvedAt) { $0.cell }),
                ("started_at", .optional(found.startedAt) { $0.cell }),
                ("ended_at", .optional(found.endedAt) { $0.cell }),
                ("tables", .int(counts.tables)), ("rows_before", .int(Int(counts.before))),
                ("rows_after", .optional(counts.after) { .int(Int($0)) }),
                (
                    "steps",
                    .brief(
                        .list(steps.map { "\($0.name): \(word($0))" }),
                        of: .records(steps.map(record)))
                ),
            ]))
    }

    private static func record(_ step: DestructionStep) -> Record {
        Record([
            ("name", .text(step.name)), ("state", .text(word(step))),
            ("started_at", .optional(step.startedAt) { $0.cell }),
            ("ended_at", .optional(step.endedAt) { $0.cell }), ("data", .json(step.detail)),
        ])
    }

    private static func word(_ step: DestructionStep) -> String {
        step.endedAt != nil ? "done" : step.startedAt != nil ? "started" : "waiting"
    }

    private static func state(_ state: String) -> Cell {
        let style: Style =
            switch state {
            case "done": .green
            case "started": .red
            case "cancelled": .dim
            default: .yellow
            }
        return .marked(state, style)
    }
}
