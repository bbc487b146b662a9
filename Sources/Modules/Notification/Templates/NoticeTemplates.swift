package import ErrandRecurrence

/// The templates of every kind of notice, for each channel and locale.
///
/// The files are read and checked once, when the program starts, so that errors do not surface when
/// a notice is due.
package struct NoticeTemplates: Sendable {
    /// A rendered notice.
    package struct Rendered: Sendable, Equatable {
        /// One line: the title of a push or inbox item, or the subject of a mail.
        package var title: String
        package var text: String
        /// A complete document; mails only.
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
    private let base: LocaleTemplates
    private let locales: [String: LocaleTemplates]

    /// Reads and checks the templates of some kinds.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of notice of the program.
    ///   - texts: their templates.
    ///   - overrides: an operator's folder of files such as `LOCALE/KIND.push.txt`, which replace
    ///     the built-in ones; nil for none. A locale such as `en-CA` needs only the files that
    ///     differ from its language.
    package init(
        kinds: [NoticeKind], texts: [NoticeText] = [], overrides: String? = nil
    ) throws(TemplateError) {
        let names = kinds.flatMap(LocaleTemplates.fileNames(of:)) + LocaleTemplates.layoutNames
        let sources = try TemplateSources(
            EmbeddedFiles.notices + texts, folder: overrides, expected: Set(names))
        self.kinds = Dictionary(
            kinds.map {
                ($0.name, Kind(facts: TemplateFacts(of: $0), isUrgent: $0.ignoresPreferences))
            }, uniquingKeysWith: { first, _ in first })
        let base = try LocaleTemplates(
            TemplateSources.base, sources.files[TemplateSources.base] ?? [:], of: kinds,
            over: nil)
        var locales = [TemplateSources.base: base]
        // A language sorts before its regions, which inherit from it.
        for locale in sources.files.keys.sorted() where locale != TemplateSources.base {
            let language = String(locale.prefix { $0 != "-" })
            locales[locale] = try LocaleTemplates(
                locale, sources.files[locale] ?? [:], of: kinds, over: locales[language] ?? base)
        }
        self.base = base
        self.locales = locales
    }

    /// Renders a notice.
    ///
    /// - Parameters:
    ///   - data: a JSON object with at least the kind's fields. A `text` is a string, a `count` a
    ///     whole number, `metres` a number, an `amount` `{"minor":1230,"currency":"CAD"}`, a `day`
    ///     `"2026-11-20"`, a `time` RFC 3339, a `list` an array of strings.
    ///   - locale: such as `en-CA`; falls back to its language, then to English.
    ///   - zone: the person's time zone; nil for UTC, which times then state.
    ///   - unsubscribe: a link for the foot of mails; not shown by urgent kinds.
    package func render(
        _ kind: String, _ channel: NoticeKind.Channel, data: [UInt8],
        locale: String = "en", zone: Zone? = nil, unsubscribe: String? = nil
    ) throws(NoticeDataError) -> Rendered {
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
            return Rendered(
                title: title, text: PlainText.cut(text, to: Self.pushLimit, isJSON: true))
        case .inbox: return Rendered(title: title, text: PlainText.cut(text, to: Self.inboxLimit))
        case .email:
            let link = known.isUrgent ? "" : unsubscribe ?? ""
            guard link.isEmpty || Self.isLink(link) else { throw .badLink(kind: kind) }
            let html = TemplateWriter(
                facts: facts, place: .html, language: words.language, zone: zone
            ).text(templates.html)
            return words.mail(title: title, text: text, html: html, unsubscribe: link)
        }
    }

    /// The maximum bytes of a title; JSON escapes may double them.
    package static let titleLimit = 250
    /// The maximum bytes of a push's text in JSON.
    ///
    /// With the longest title, this leaves 1,500 of the 4,096 bytes that APNs and FCM accept.
    package static let pushLimit = 2_000
    /// The maximum bytes of the text of an inbox item.
    package static let inboxLimit = 8_000

    private static func title(_ text: String) -> String {
        PlainText.cut(PlainText.line(text), to: titleLimit)
    }

    private static func isLink(_ link: String) -> Bool {
        let starts = ["https://", "http://", "mailto:"]
        return starts.contains { link.hasPrefix($0) && link.utf8.count > $0.utf8.count }
            && link.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns the templates for a locale: its own, those of its language, or English.
    private func words(for locale: String) -> LocaleTemplates {
        if let exact = locales[locale] { return exact }
        let parts = locale.split { $0 == "-" || $0 == "_" }
        let language = parts.first.map { $0.lowercased() } ?? ""
        if parts.count > 1, let region = locales["\(language)-\(parts[1].uppercased())"] {
            return region
        }
        return locales[language] ?? base
    }
}
