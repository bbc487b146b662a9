import FoundationEssentials
import Errand
import ErrandCommand
import ErrandPostgres
package import ErrandTerminal

/// Formatting shared by the notice commands.
package enum NotificationFormatting {
    package static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The notice's id")

    /// Returns the operator's queries on notices.
    package static func notices(_ invocation: Invocation) throws -> Notices {
        Notices(
            session: try invocation.session(),
            catalogue: try NoticeCatalogue.of(
                invocation.modules.all, environment: invocation.environment),
            zones: PeopleZones(invocation.zones))
    }

    /// Returns the kind of a name.
    package static func kind(
        _ name: String, in catalogue: NoticeCatalogue
    ) throws(CommandFailure) -> NoticeKind {
        if let kind = catalogue.kinds[name] { return kind }
        let guess = nearest(to: name, among: catalogue.kinds.keys.sorted())
        throw CommandFailure(
            exit: .notFound, message: "there is no kind of notice \(name)",
            hint: (guess.map { "did you mean \($0)? " } ?? "")
                + "'errand notification kinds' lists them")
    }

    package static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no notice \(id)",
            hint: "'errand notification ls' lists the notices")
    }

    package static func unknown(person id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no person \(id)",
            hint: "the app adds people: SELECT people.put_person(\(id))")
    }

    package static func style(_ status: String) -> Style {
        switch status {
        case "sent", "delivered", "merged": .green
        case "failed", "rejected", "gone": .red
        case "intended", "held", "pending": .cyan
        default: .yellow
        }
    }

    /// Returns a record for the terminal, without empty fields.
    package static func shortened(_ record: Record) -> Record {
        var shown = record
        shown.fields.removeAll { $0.cell == .missing }
        return shown
    }

    /// Returns a notice as a record; scripts rely on the field names.
    package static func record(_ notice: NoticeRecord) -> Record {
        Record([
            ("id", .id(Int(notice.id))), ("person", .id(Int(notice.personID))),
            ("kind", .text(notice.kind)), ("subject", .text(notice.subject)),
            ("status", .marked(notice.status, style(notice.status))),
            ("reason", .optional(notice.reason) { .text($0) }),
            ("app", .optional(notice.app) { .text($0) }),
            ("urgency", .optional(notice.urgency) { .text($0) }),
            ("created_at", notice.createdAt.cell),
            ("decided_at", .optional(notice.decidedAt) { $0.cell }),
            ("hold_until", .optional(notice.holdUntil) { $0.cell }),
            ("hold_reason", .optional(notice.holdReason) { .text($0) }),
            ("ended_at", .optional(notice.answeredAt) { $0.cell }),
            ("expires_at", notice.expiresAt.cell),
            ("sender", .optional(notice.senderID) { .id(Int($0)) }),
            ("merged_into", .optional(notice.mergedInto) { .id(Int($0)) }),
            ("decided_by", .optional(notice.jobID) { .id(Int($0)) }),
            ("dedupe_key", .text(notice.dedupeKey)), ("public_id", .text(notice.publicID)),
        ])
    }
}
