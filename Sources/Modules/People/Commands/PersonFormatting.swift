import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// Formatting shared by the commands of people.
enum PersonFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The person's id")
    static let reason = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "The reason; forgotten once the person is erased"
    ).required()

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no person \(id)",
            hint: "'errand person ls' lists the people")
    }

    /// An audit line about a person; an erasure finds it by its subject.
    static func line(
        _ invocation: Invocation, _ id: Int, reason: String? = nil
    ) -> Statement {
        AuditLine(
            operatorName: invocation.operatorName, action: invocation.command.name,
            subject: "person \(id)", reason: reason
        ).statement
    }

    static func record(_ person: PersonRecord) -> Record {
        let style: Style =
            switch person.state {
            case .active: .green
            case .blocked: .yellow
            case .erased: .dim
            }
        return Record([
            ("id", .id(Int(person.id))), ("state", .marked(person.state.rawValue, style)),
            ("obstacle", .text(person.obstacle)), ("time_zone", .text(person.timeZone)),
            ("created_at", person.createdAt.cell), ("last_seen_at", person.lastSeenAt.cell),
            ("blocked_at", .optional(person.blockedAt) { $0.cell }),
            ("erased_at", .optional(person.erasedAt) { $0.cell }),
        ])
    }

    static func record(_ consent: ConsentRecord) -> Record {
        Record([
            ("what", .text(consent.what)), ("version", .text(consent.version)),
            ("given_at", consent.givenAt.cell),
            ("replaced_at", .optional(consent.replacedAt) { $0.cell }),
            ("withdrawn_at", .optional(consent.withdrawnAt) { $0.cell }),
        ])
    }

    static func record(_ erasure: ErasureRecord) -> Record {
        Record([
            ("id", .id(Int(erasure.id))), ("cause", .text(erasure.cause)),
            ("state", .text(erasure.state)), ("requested_at", erasure.requestedAt.cell),
            ("starts_at", erasure.startsAt.cell), ("due_at", erasure.dueAt.cell),
            ("ended_at", .optional(erasure.endedAt) { $0.cell }),
            ("steps", .list(erasure.steps)),
            ("failure", .optional(erasure.failure) { .text($0) }),
        ])
    }
}
