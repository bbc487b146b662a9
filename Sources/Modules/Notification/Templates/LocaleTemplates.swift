/// The checked templates of all notices in one locale.
struct LocaleTemplates: Sendable {
    /// The templates of one kind for one channel.
    struct ChannelTemplates: Sendable {
        var title: [TemplatePart]
        var text: [TemplatePart]
        /// Mails only.
        var html: [TemplatePart]
    }

    private struct Place: Hashable {
        var kind: String
        var channel: NoticeKind.Channel
    }

    let language: NoticeLanguage
    private var words: [Place: ChannelTemplates] = [:]
    private var layoutText: [TemplatePart] = []
    private var layoutHTML: [TemplatePart] = []

    static let layoutNames = ["layout.email.txt", "layout.email.html"]

    /// Returns the names of the template files of a kind.
    static func fileNames(of kind: NoticeKind) -> [String] {
        kind.channels.flatMap { fileNames(of: kind.name, $0) }
    }

    private static func fileNames(of kind: String, _ channel: NoticeKind.Channel) -> [String] {
        switch channel {
        case .push: ["\(kind).push.txt"]
        case .email: ["\(kind).email.txt", "\(kind).email.html"]
        case .inbox: ["\(kind).inbox.txt"]
        }
    }

    /// Reads the templates of a locale.
    ///
    /// - Parameter parent: provides missing templates; nil if none may be missing.
    init(
        _ locale: String, _ files: [String: TemplateSource], of kinds: [NoticeKind],
        over parent: LocaleTemplates?
    ) throws(TemplateError) {
        language = NoticeLanguage(locale: locale) ?? .english
        let reader = Reader(locale: locale, files: files, language: language)
        if let found = try reader.take(
            Self.layoutNames, isNeeded: parent == nil, by: "the layout of every mail")
        {
            layoutText = try reader.layout(found[0], as: .text)
            layoutHTML = try reader.layout(found[1], as: .html)
        } else if let parent {
            layoutText = parent.layoutText
            layoutHTML = parent.layoutHTML
        }
        for kind in kinds {
            let facts = TemplateFacts(of: kind)
            for channel in kind.channels {
                let place = Place(kind: kind.name, channel: channel)
                let found = try reader.take(
                    Self.fileNames(of: kind.name, channel), isNeeded: parent == nil,
                    by: "\(kind.name) is sent by \(channel.rawValue)")
                words[place] =
                    if let found {
                        try reader.words(found, of: channel, facts)
                    } else { parent?.words[place] }
            }
        }
    }

    /// Returns the templates of a kind for a channel; nil if the kind does not use the channel.
    func templates(of kind: String, _ channel: NoticeKind.Channel) -> ChannelTemplates? {
        words[Place(kind: kind, channel: channel)]
    }

    /// Returns a mail: its text in the layout of all mails.
    func mail(
        title: String, text: String, html: String, unsubscribe: String
    ) -> NoticeTemplates.Rendered {
        func laid(_ parts: [TemplatePart], as place: TemplatePlace, _ body: String) -> String {
            // Ordered as in ``TemplateFacts/layout``.
            let facts: [NoticeFact] = [.body(body), .text(title), .link(unsubscribe)]
            return TemplateWriter(facts: facts, place: place, language: language, zone: nil)
                .text(parts)
        }
        return NoticeTemplates.Rendered(
            title: title, text: laid(layoutText, as: .text, text),
            html: laid(layoutHTML, as: .html, html))
    }

    /// Reads the files of one locale.
    private struct Reader {
        let locale: String
        let files: [String: TemplateSource]
        let language: NoticeLanguage

        /// Returns files that belong together; nil if all are missing and none is required.
        func take(
            _ names: [String], isNeeded: Bool, by reason: String
        ) throws(TemplateError) -> [TemplateSource]? {
            let found = names.compactMap { files[$0] }
            if found.count == names.count { return found }
            guard let missing = names.first(where: { files[$0] == nil }) else { return nil }
            if let other = found.first {
                throw .missing(
                    path: "\(locale)/\(missing)", needed: "it belongs to \(other.path)")
            }
            guard !isNeeded else {
                throw .missing(path: "\(locale)/\(missing)", needed: reason)
            }
            return nil
        }

        func words(
            _ files: [TemplateSource], of channel: NoticeKind.Channel, _ facts: TemplateFacts
        ) throws(TemplateError) -> ChannelTemplates {
            let file = files[0]
            let (title, text) =
                channel == .email
                ? try file.parts(after: "Subject: ", "subject")
                : try file.parts(after: "", "title")
            return ChannelTemplates(
                title: try parse(file, title, as: .line, facts),
                text: try parse(file, text, as: .text, facts),
                html: channel == .email ? try whole(files[1], as: .html, facts) : [])
        }

        /// Returns a layout, which must contain the body and the unsubscribe link.
        func layout(
            _ file: TemplateSource, as place: TemplatePlace
        ) throws(TemplateError) -> [TemplatePart] {
            let facts = TemplateFacts.layout
            let parts = try whole(file, as: place, facts)
            let bodies = parts.count { $0 == .fact(0) }
            guard bodies == 1 else {
                throw file.wrong(
                    at: file.bytes.count, "{body} once, outside of other parts, not \(bodies) times"
                )
            }
            let hasLink = parts.contains { part in
                guard case .optional(2, let inner) = part else { return false }
                return inner.contains(.fact(2))
            }
            guard hasLink, !parts.contains(.fact(2)) else {
                throw file.wrong(
                    at: file.bytes.count,
                    "{unsubscribe} within {?unsubscribe …}: mails that are not urgent need it")
            }
            return parts
        }

        private func whole(
            _ file: TemplateSource, as place: TemplatePlace, _ facts: TemplateFacts
        ) throws(TemplateError) -> [TemplatePart] {
            guard !file.bytes.isEmpty else { throw file.wrong(at: 0, "text") }
            return try parse(file, 0..<file.bytes.count, as: place, facts)
        }

        private func parse(
            _ file: TemplateSource, _ range: Range<Int>, as place: TemplatePlace,
            _ facts: TemplateFacts
        ) throws(TemplateError) -> [TemplatePart] {
            try TemplateParser.parse(file, range, as: place, facts: facts, in: language)
        }
    }
}
