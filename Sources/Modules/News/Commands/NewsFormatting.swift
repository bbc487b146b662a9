import Errand
import ErrandCommand
import ErrandNotification
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// Arguments, errors and records that the news commands share.
enum NewsFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The sending's id")

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no sending \(id)",
            hint: "'errand news ls' lists them")
    }

    /// Runs `body` and turns a refusal by the schema into a command failure.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as SendingError {
            switch error {
            case .unknown(let id): throw unknown(Int(id))
            case .state(let id, let state):
                throw CommandFailure(
                    exit: .conflict, message: "\(error)",
                    hint: state == "draft"
                        ? "'errand news send \(id) --dry-run' shows what it would send"
                        : "'errand news show \(id)' shows its progress and who started it")
            case .same(let other):
                throw CommandFailure(
                    exit: .conflict, message: "\(error)",
                    hint: "'errand news show \(other)' shows it; change the text to send another")
            case .invalid: throw CommandFailure(exit: .usage, message: "\(error)")
            }
        }
    }

    private static func state(_ state: SendingState) -> Cell {
        let style: Style =
            switch state {
            case .running: .green
            case .draft: .cyan
            case .paused: .yellow
            case .done, .cancelled: .dim
            }
        return .marked(state.rawValue, style)
    }

    /// A sending, with the field names that scripts rely on; the body only in full.
    static func record(_ sending: SendingRecord, inFull: Bool = false) -> Record {
        var record = Record([
            ("id", .id(Int(sending.id))), ("kind", .text(sending.kind)),
            ("audience", .text(sending.audience)),
            ("version", .optional(sending.version) { .text($0) }),
            ("headline", .text(sending.headline)), ("state", state(sending.state)),
            ("state_since", sending.stateSince.cell), ("created_at", sending.createdAt.cell),
            ("created_by", .text(sending.createdBy)),
            ("started_at", .optional(sending.startedAt) { $0.cell }),
            ("started_by", .optional(sending.startedBy) { .text($0) }),
            ("ended_at", .optional(sending.endedAt) { $0.cell }),
            ("chunk_at", .optional(sending.chunkAt) { $0.cell }),
            ("people", .optional(sending.people) { .int($0) }),
            ("notified", .int(sending.notified)), ("skipped", .int(sending.skipped)),
            ("left", .optional(sending.left) { .int($0) }),
            ("per_second", .optional(sending.rate) { .number($0, decimals: 1) }),
            ("remaining", .optional(sending.remaining) { .duration($0) }),
        ])
        if inFull {
            record.append("summary", .text(sending.summary))
            record.append("body", .text(sending.body))
        }
        return record
    }

    /// Prints a sending.
    static func show(_ id: Int, _ invocation: Invocation) async throws {
        let rows = SendingRows(session: try invocation.session())
        guard let found = try await rows.sending(Int64(id)) else { throw unknown(id) }
        try invocation.output.show(record(found, inFull: true))
    }

    /// Renders the notice of a draft by each channel.
    static func samples(
        _ draft: SendingDraft, _ invocation: Invocation
    ) throws -> [Record] {
        let catalogue = try NoticeCatalogue.of(
            invocation.modules.all, environment: invocation.environment)
        guard let kind = catalogue.kinds[draft.kind] else { return [] }
        var facts = ["headline": draft.headline, "summary": draft.summary, "body": draft.body]
        facts["version"] = draft.version
        let data = try AuditLine.json(facts)
        return try kind.channels.map { channel in
            let words = try catalogue.wording.words(
                of: kind.name, on: channel, data: data, zone: .utc)
            return Record([
                ("channel", .text(channel.rawValue)), ("title", .text(words.title)),
                ("text", .text(words.text)),
            ])
        }
    }
}
