import FoundationEssentials
import Errand
import ErrandCommand
package import ErrandPostgres
package import ErrandTerminal

/// `errand notification why`.
package enum NotificationWhyCommand {
    package static let all = [command]

    private static let person = Option<Int?>.integer(
        "person", range: 1...Int.max, placeholder: "ID", help: "The recipient"
    ).required()
    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "The kind; 'errand notification kinds' lists them"
    ).required()
    private static let subject = Option<String?>.text(
        "subject", help: "The subject, such as coupon:17 (default: one without history)")
    private static let at = Option<Instant?>.value(
        "at", JobInputOptions.time, help: "As of this time (default: now)")

    private static let command = Command(
        "notification", "why", effect: .read,
        summary: "Explain what the policy would decide about a notice; sends nothing",
        discussion: """
            Evaluates the policy as if the event had just happened: consent, age, preferences, \
            quiet hours, cooldowns and caps, and then each channel of the kind.
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
        let kind = try NotificationFormatting.kind(invocation[kind], in: catalogue)
        let now = invocation[at] ?? Instant.now()
        let notices = try NotificationFormatting.notices(invocation)
        guard
            let outlook = try await notices.wouldDo(
                person: Int64(id), kind: kind.name, subject: invocation[subject] ?? "",
                now: now.date)
        else { throw NotificationFormatting.unknown(person: id) }
        let record = record(outlook, of: kind, to: id, at: now, invocation)
        try invocation.output.show(
            invocation.output.isForPeople ? NotificationFormatting.shortened(record) : record)
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
            ("decision", .marked(word, word == "send" ? .green : .yellow)),
            ("explanation", .text(because)), ("hold_until", .optional(until) { $0.cell }),
            (
                "channels",
                .records(
                    outlook.ways.map { way in
                        Record([
                            ("channel", .text(way.channel.rawValue)),
                            ("is_open", .flag(way.isOpen)), ("explanation", .text(way.because)),
                        ])
                    })
            ),
        ])
    }

    /// Returns a decision as one word, with its reason and the time it lasts until.
    package static func words(
        _ decision: NoticeDecision
    ) -> (word: String, because: String, until: Instant?) {
        switch decision {
        case .send(let channels):
            let list = channels.map(\.rawValue).joined(separator: ", ")
            return ("send", "every rule allows it: sent at once by \(list)", nil)
        case .hold(let until, let why): return ("hold", why, until)
        case .drop(let why): return ("drop", why, nil)
        case .expire(let why): return ("expire", why, nil)
        case .refuse(let until, let why): return ("refuse", why, until)
        }
    }
}
