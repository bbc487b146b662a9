import FoundationEssentials
import Errand
import ErrandCommand
package import ErrandPostgres
package import ErrandTerminal

/// `errand notification why`.
package enum NotificationWhyCommand {
    package static let all = [command]

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "Whom it would be for"
    ).required()
    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "A kind that 'errand notification kinds' has"
    ).required()
    private static let subject = Option<String?>.text(
        "subject", help: "What it would be about, such as coupon:17; else nothing told before")
    private static let at = Option<Instant?>.value(
        "at", JobWords.time, help: "As of this time (default: now)")

    private static let command = Command(
        "notification", "why", effect: .looks,
        summary: "Say what would become of a notice now, and why; tells nobody",
        discussion: """
            Asks the policy as if the event had just happened: consent and age, what the person \
            chose, quiet hours, cooldowns and caps, and then each channel of the kind.
            """,
        examples: [
            .init("errand notification why --person 42 --kind coupon.nearby", "as of now"),
            .init(
                "errand notification why --person 42 --kind company.news "
                    + "--at 2026-11-20T23:00:00Z", "at night"),
        ],
        options: [person, kind, subject, at]
    ) { invocation in
        let id = invocation[person]
        let catalogue = try NoticeCatalogue.of(
            invocation.modules.all, environment: invocation.environment)
        let kind = try NotificationWords.kind(invocation[kind], in: catalogue)
        let now = invocation[at] ?? Instant.now()
        let notices = try NotificationWords.notices(invocation)
        guard
            let outlook = try await notices.wouldDo(
                person: Int64(id), kind: kind.name, subject: invocation[subject] ?? "",
                now: now.date)
        else { throw NotificationWords.unknown(person: id) }
        let record = record(outlook, of: kind, to: id, at: now, invocation)
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationWords.shortened(record) : record)
        return .done
    }

    private static func record(
        _ outlook: NoticeOutlook, of kind: NoticeKind, to person: Int, at now: Instant,
        _ invocation: Invocation
    ) -> Record {
        let (word, because, until) = words(outlook.decision)
        return Record([
            ("person", .id(person)), ("kind", .text(kind.name)),
            ("subject", .optional(invocation[subject]) { .text($0) }), ("at", now.cell),
            ("zone", .text(outlook.zone)),
            ("decision", .marked(word, word == "tell" ? .green : .yellow)),
            ("because", .text(because)), ("hold_until", .optional(until) { $0.cell }),
            (
                "channels",
                .records(
                    outlook.ways.map { way in
                        Record([
                            ("channel", .text(way.channel.rawValue)),
                            ("is_open", .flag(way.isOpen)), ("because", .text(way.because)),
                        ])
                    })
            ),
        ])
    }

    /// A decision in one word, why, and until when it holds.
    package static func words(
        _ decision: NoticeDecision
    ) -> (word: String, because: String, until: Instant?) {
        switch decision {
        case .tell(let channels):
            let list = channels.map(\.rawValue).joined(separator: ", ")
            return ("tell", "nothing stands against it: told at once by \(list)", nil)
        case .hold(let until, let why): return ("hold", why, until)
        case .drop(let why): return ("drop", why, nil)
        case .expire(let why): return ("expire", why, nil)
        case .refuse(let until, let why): return ("refuse", why, until)
        }
    }
}
