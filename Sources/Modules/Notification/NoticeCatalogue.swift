package import ErrandRecurrence

/// Renders notices.
package protocol Wording: Sendable {
    /// Renders one notice for one channel.
    ///
    /// - Parameters:
    ///   - data: a JSON object with the kind's facts.
    ///   - locale: such as `en-CA`; another language than those of the templates means English.
    ///   - zone: the person's time zone, for times; nil for UTC, which times then state.
    ///   - unsubscribe: a link for the foot of mails; nil for none.
    /// - Throws: if the templates are missing or the data do not match the kind; the text shows
    ///   no value.
    func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], locale: String,
        zone: Zone?, unsubscribe: String?
    ) throws -> NoticeTemplates.Rendered
}

extension Wording {
    /// Renders one notice in English.
    package func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], zone: Zone,
        unsubscribe: String? = nil
    ) throws -> NoticeTemplates.Rendered {
        try words(
            of: kind, on: channel, data: data, locale: "en", zone: zone, unsubscribe: unsubscribe)
    }
}

extension NoticeTemplates: Wording {
    package func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], locale: String,
        zone: Zone?, unsubscribe: String?
    ) throws -> Rendered {
        try render(
            kind, channel, data: data, locale: locale, zone: zone, unsubscribe: unsubscribe)
    }
}

/// The kinds of notice of a program, with their digests and templates.
package struct NoticeCatalogue: Sendable {
    /// By name.
    package let kinds: [String: NoticeKind]
    package let wording: any Wording

    /// Creates a catalogue of kinds with distinct names; adds their digests.
    package init(_ kinds: [NoticeKind], wording: any Wording) {
        for kind in kinds where kind.mergesHeld {
            precondition(
                kind.listedInDigest.map { kind.fields[$0] != nil } ?? false,
                "\(kind.name) merges: declare the fact that its digest lists")
        }
        for kind in kinds where !kind.secrets.isEmpty {
            precondition(
                kind.secrets.isSubset(of: kind.fields.keys) && !kind.mergesHeld
                    && !kind.channels.contains(.inbox),
                "\(kind.name) has secrets: declare them as facts, without inbox and digest")
        }
        let named = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in
            preconditionFailure("two kinds of notice are called \(first.name)")
        }
        let digests = kinds.compactMap(\.digest).map { ($0.name, $0) }
        self.kinds = named.merging(digests) { known, _ in known }
        self.wording = wording
    }

    /// Returns the kinds of notice of some modules and of the account.
    ///
    /// - Parameter overrides: an operator's folder of templates; nil for none.
    package static func of(
        _ modules: [any NotifyingModule], overrides: String? = nil
    ) throws(TemplateError) -> NoticeCatalogue {
        let declared = NoticeKind.account + modules.flatMap(\.notices)
        let kinds = declared + declared.compactMap(\.digest)
        let texts = modules.flatMap(\.noticeTexts)
        return NoticeCatalogue(
            kinds, wording: try NoticeTemplates(kinds: kinds, texts: texts, overrides: overrides))
    }
}
