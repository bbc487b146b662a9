import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// Arguments, errors and records that the inquiry commands share.
enum InquiryFormatting {
    static let id = Argument.required(
        ValueFormat.integer("THREAD", in: 1...Int.max), help: "The thread's id")

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no thread \(id)",
            hint: "'errand inquiry ls' lists them")
    }

    /// Runs `body` and turns a refusal by the schema into a command failure.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as ThreadError {
            switch error {
            case .unknown(let id): throw unknown(Int(id))
            case .repeated:
                throw CommandFailure(
                    exit: .conflict, message: "\(error)",
                    hint: "give each answer a --request-id of its own")
            case .refused: throw CommandFailure(exit: .refused, message: "\(error)")
            case .invalid: throw CommandFailure(exit: .usage, message: "\(error)")
            }
        }
    }

    private static func state(_ thread: ThreadRecord) -> Cell {
        let style: Style =
            switch thread.state {
            case "waiting": thread.isLate ? .red : .yellow
            case "answered": .green
            default: .dim
            }
        return .marked(thread.state, style)
    }

    /// A thread, with the field names that scripts rely on.
    static func record(_ thread: ThreadRecord, messages: Cell) -> Record {
        Record([
            ("id", .id(Int(thread.id))), ("person", .id(Int(thread.person))),
            ("mission", .optional(thread.mission) { .id(Int($0)) }),
            ("mission_title", .optional(thread.missionTitle) { .text($0) }),
            ("state", state(thread)), ("opened_at", thread.openedAt.cell),
            ("last_at", thread.lastAt.cell),
            ("waiting_since", .optional(thread.waitingSince) { $0.cell }),
            ("waiting_from", .optional(thread.waitingFrom) { .id(Int($0)) }),
            ("is_late", .flag(thread.isLate)),
            ("closed_at", .optional(thread.closedAt) { $0.cell }),
            ("closed_by", .optional(thread.closedBy) { .text($0) }),
            ("messages", messages),
        ])
    }

    /// Prints a thread with its messages.
    static func show(_ id: Int, _ invocation: Invocation) async throws {
        let rows = ThreadRows(session: try invocation.session())
        guard let found = try await rows.thread(Int64(id), now: .now()) else { throw unknown(id) }
        let messages = found.messages.map { message in
            Record([
                ("id", .id(Int(message.id))), ("at", message.at.cell),
                ("by", .text(message.actor ?? "person")),
                ("alerted_at", .optional(message.alertedAt) { $0.cell }),
                ("text", .text(message.text)),
            ])
        }
        try invocation.output.show(record(found.thread, messages: .records(messages)))
    }
}
