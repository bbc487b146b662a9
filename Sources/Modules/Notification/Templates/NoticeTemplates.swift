package import ErrandRecurrence

/// How every kind of notice reads, over each channel and in each locale.
///
/// The words are files, read and checked once, when a program starts: what is wrong with them is
/// found then, and not when somebody should be told something.
package struct NoticeTemplates: Sendable {
    /// A notice in words.
    package struct Words: Sendable, Equatable {
        /// One line: the title of a push or of an entry in the inbox, the subject of a mail.
        package var title: String
        package var text: String
        /// A whole document; mails only.
        package var html: String?

        package init(title: String, text: String, html: String? = nil) {
            self.title = title
            self.text = text
            self.html = html
        }
    }

    private struct Kind {
        var facts: TemplateFacts
        var isUrgent: Bool
    }

    private let kinds: [String: Kind]
    private let base: LocaleWords
    private let locales: [String: LocaleWords]

    /// Reads and checks the words of some kinds.
    ///
    /// - Parameters:
    ///   - kinds: those that the program tells.
    ///   - texts: the words that come with them.
    ///   - overrides: an operator's folder of `LOCALE/KIND.push.txt` and so on, whose files take
    ///     the place of the built-in ones; nil for none. A locale such as `en-CA` needs only the
    ///     files that differ from those of its language.
    package init(
        kinds: [NoticeKind], texts: [NoticeText] = [], overrides: String? = nil
    ) throws(TemplateError) {
        let names = kinds.flatMap(LocaleWords.fileNames(of:)) + LocaleWords.layoutNames
        let sources = try TemplateSources(
            EmbeddedFiles.notices + texts, folder: overrides, expected: Set(names))
        self.kinds = Dictionary(
            kinds.map {
                ($0.name, Kind(facts: TemplateFacts(of: $0), isUrgent: $0.urgency == .urgent))
            }, uniquingKeysWith: { first, _ in first })
        let base = try LocaleWords(
            TemplateSources.base, sources.files[TemplateSources.base] ?? [:], of: kinds,
            over: nil)
        var locales = [TemplateSources.base: base]
        // A language comes before its regions, which build on it.
        for locale in sources.files.keys.sorted() where locale != TemplateSources.base {
            let language = String(locale.prefix { $0 != "-" })
            locales[locale] = try LocaleWords(
                locale, sources.files[locale] ?? [:], of: kinds, over: locales[language] ?? base)
        }
        self.base = base
        self.locales = locales
    }

    /// Puts a notice into words.
    ///
    /// - Parameters:
    ///   - data: a JSON object with at least the kind's fields. A `text` is a string, a `count` a
    ///     whole number, `metres` a number, an `amount` `{"minor":1230,"currency":"CAD"}`, a `day`
    ///     `"2026-11-20"`, a `time` RFC 3339, a `list` an array of strings.
    ///   - locale: as `en-CA`; without words of its own it gets those of its language, or English.
    ///   - zone: the person's, for times; without it they are in UTC and say so.
    ///   - unsubscribe: a link for the foot of mails; urgent kinds do not show it.
    package func render(
        _ kind: String, _ channel: NoticeKind.Channel, data: [UInt8],
        locale: String = "en", zone: Zone? = nil, unsubscribe: String? = nil
    ) throws(NoticeDataError) -> Words {
        guard let known = kinds[kind] else { throw .unknownKind(kind) }
        let words = words(for: locale)
        guard let templates = words.templates(of: kind, channel) else {
            throw .notTold(kind: kind, channel: channel)
        }
        let facts = try NoticeFacts.read(data, known.facts)
        let title = Self.title(
            TemplateWriter(facts: facts, place: .line, language: words.language, zone: zone)
                .text(templates.title))
        let text = TemplateWriter(facts: facts, place: .text, language: words.language, zone: zone)
            .text(templates.text)
        switch channel {
        case .push:
            return Words(title: title, text: PlainText.cut(text, to: Self.pushLimit, isJSON: true))
        case .inbox: return Words(title: title, text: PlainText.cut(text, to: Self.inboxLimit))
        case .email:
            let link = known.isUrgent ? "" : unsubscribe ?? ""
            guard link.isEmpty || Self.isLink(link) else { throw .badLink(kind: kind) }
            let html = TemplateWriter(
                facts: facts, place: .html, language: words.language, zone: zone
            ).text(templates.html)
            return words.mail(title: title, text: text, html: html, unsubscribe: link)
        }
    }

    /// The most bytes of a title, of which JSON escapes can make twice as many.
    package static let titleLimit = 250
    /// The most bytes of a push's text as it stands in JSON.
    ///
    /// With the longest title that leaves 1,500 of the 4,096 bytes that APNs and FCM take for what
    /// else a push carries.
    package static let pushLimit = 2_000
    /// The most bytes of an entry's text in the inbox.
    package static let inboxLimit = 8_000

    private static func title(_ text: String) -> String {
        PlainText.cut(PlainText.line(text), to: titleLimit)
    }

    private static func isLink(_ link: String) -> Bool {
        let starts = ["https://", "http://", "mailto:"]
        return starts.contains { link.hasPrefix($0) && link.utf8.count > $0.utf8.count }
            && link.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The words for a person's locale: its own, those of its language, or English.
    private func words(for locale: String) -> LocaleWords {
        if let exact = locales[locale] { return exact }
        let parts = locale.split { $0 == "-" || $0 == "_" }
        let language = parts.first.map { $0.lowercased() } ?? ""
        if parts.count > 1, let region = locales["\(language)-\(parts[1].uppercased())"] {
            return region
        }
        return locales[language] ?? base
    }
}
