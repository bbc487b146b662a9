import ErrandJSONText
import ErrandDelivery
import FoundationEssentials
import Errand
import ErrandCommand
import ErrandRecurrence
import ErrandTerminal

/// `errand notification preview`.
enum NotificationPreviewCommand {
    static let all = [command]

    private static let name = Argument.required(
        ValueFormat.text("KIND"), help: "The kind; 'errand notification kinds' lists them")
    private static let data = Option<String?>.text(
        "data", placeholder: "JSON",
        help: "The facts as a JSON object, @FILE or @- (default: samples)")
    private static let channels = Option<[NoticeKind.Channel]>.list(
        "channel", .choice(of: NoticeKind.Channel.self),
        help: "Only these channels (default: all of the kind)")
    private static let html = Option<String?>.text(
        "html", placeholder: "FILE", help: "Write the e-mail as HTML to this file")
    private static let zone = Option<String?>.text(
        "zone", placeholder: "ZONE",
        help: "The time zone of the times shown, such as Europe/Berlin (default: UTC)")

    private static let command = Command(
        "notification", "preview", effect: .configure,
        summary: "Render a kind of notice: title, text, payload, and the e-mail as HTML",
        discussion: """
            Requires no server and sends nothing. Uses the templates of this program, or those \
            in the folder that ERRAND_NOTICES names.
            """,
        examples: [
            .init("errand notification preview coupon.expiring", "with sample facts"),
            .init(
                "errand notification preview payout.issued --html mail.html --channel email "
                    + "--data @payout.json", "a mail to open in a browser"),
        ],
        options: [data, channels, html, zone], arguments: [name]
    ) { invocation in
        let catalogue = try NoticeCatalogue.of(
            invocation.modules.all, environment: invocation.environment)
        let kind = try NotificationFormatting.kind(invocation[name], in: catalogue)
        let place = try invocation[zone].map {
            try ScheduleFormatting.zone($0, in: invocation.zones, by: "--zone")
        }
        let wanted = invocation[channels].isEmpty ? kind.channels : invocation[channels]
        guard invocation[html] == nil || wanted.contains(.email) else {
            throw CommandFailure(
                exit: .usage, message: "--html requires the channel email",
                hint: "the channels of \(kind.name) are \(list(kind.channels))")
        }
        let facts = try invocation[data].map(JobInputOptions.content) ?? samples(kind)
        var records: [Record] = []
        for channel in wanted {
            let words: NoticeTemplates.Rendered
            do {
                words = try catalogue.wording.words(
                    of: kind.name, on: channel, data: facts, zone: place ?? .utc)
            } catch let error as NoticeDataError {
                throw refused(error, kind)
            }
            var file: String?
            if channel == .email, let path = invocation[html], let document = words.html {
                try TextFile.replace(path, with: document)
                file = path
            }
            records.append(try record(words, of: kind, channel, facts, file: file))
        }
        guard invocation.output.isForPeople else {
            try invocation.output.list(records)
            return .done
        }
        // Texts are shown in full: one record each.
        for (place, record) in records.enumerated() {
            if place > 0 { try invocation.output.line() }
            try invocation.output.show(NotificationFormatting.shortened(record))
        }
        return .done
    }

    private static func list(_ channels: [NoticeKind.Channel]) -> String {
        channels.map(\.rawValue).joined(separator: ", ")
    }

    private static func refused(_ error: NoticeDataError, _ kind: NoticeKind) -> CommandFailure {
        let hint =
            if case .notTold = error { "its channels are \(list(kind.channels))" } else {
                "such as --data '\(String(decoding: samples(kind), as: UTF8.self))'"
            }
        return CommandFailure(exit: .usage, message: "\(error)", hint: hint)
    }

    private static func record(
        _ words: NoticeTemplates.Rendered, of kind: NoticeKind, _ channel: NoticeKind.Channel,
        _ facts: [UInt8], file: String?
    ) throws -> Record {
        let payload = channel == .push ? try Self.payload(words, facts) : nil
        return Record([
            ("kind", .text(kind.name)), ("channel", .text(channel.rawValue)),
            ("title", .text(words.title)), ("text", .text(words.text)),
            ("payload", .optional(payload) { .json($0) }),
            ("payload_bytes", .optional(payload) { .int($0.count) }),
            ("file", .optional(file) { .text($0) }),
        ])
    }

    /// Returns the payload for APNs; the facts are passed to the app as texts.
    private static func payload(
        _ words: NoticeTemplates.Rendered, _ facts: [UInt8]
    ) throws -> [UInt8] {
        // A constant, so that previews can be compared.
        let id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        var message = PushMessage(id: id, token: "", app: "")
        message.title = words.title
        message.body = words.text
        for member in try JSONScanner.members(of: facts[...]) {
            message.data[member.name] =
                JSONScanner.text(member.value) ?? String(decoding: member.value, as: UTF8.self)
        }
        return message.apnsPayload()
    }

    // MARK: Samples

    /// Returns a sample value for each fact, ordered by name.
    private static func samples(_ kind: NoticeKind) -> [UInt8] {
        JSONValue.object(
            kind.fields.sorted { $0.key < $1.key }.map { name, field in
                JSONValue.Member(name, sample(name, field))
            }
        ).serialized
    }

    private static func sample(_ name: String, _ field: NoticeKind.Field) -> JSONValue {
        let words = name.split(separator: "_").joined(separator: " ")
        return switch field {
        case .text: .text("(\(words))")
        case .count: .int(3)
        case .metres: .int(250)
        case .amount: ["minor": .int(1_230), "currency": .text("CAD")]
        case .amounts: .array([["minor": .int(1_230), "currency": .text("CAD")]])
        case .day: .text("2026-11-20")
        case .time: .text("2026-11-20T17:30:00Z")
        case .link: .text("https://example.org/\(name)")
        case .list: .array([.text("(first of \(words))"), .text("(second of \(words))")])
        }
    }
}
