package import ErrandRecurrence

/// What puts notices into words.
package protocol Wording: Sendable {
    /// The words of one notice for one channel.
    ///
    /// - Parameters:
    ///   - data: a JSON object with the kind's facts.
    ///   - zone: the person's, for times.
    ///   - unsubscribe: a link for the foot of mails; nil for none.
    /// - Throws: when there are none, or when the data are not what the kind declares; the text
    ///   shows no value.
    func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], zone: Zone,
        unsubscribe: String?
    ) throws -> NoticeTemplates.Words
}

extension Wording {
    /// The words of one notice, without a link to unsubscribe.
    package func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], zone: Zone
    ) throws -> NoticeTemplates.Words {
        try words(of: kind, on: channel, data: data, zone: zone, unsubscribe: nil)
    }
}

extension NoticeTemplates: Wording {
    package func words(
        of kind: String, on channel: NoticeKind.Channel, data: [UInt8], zone: Zone,
        unsubscribe: String?
    ) throws -> Words {
        try render(kind, channel, data: data, zone: zone, unsubscribe: unsubscribe)
    }
}

/// The kinds of notice that a program knows, with their digests, and their words.
package struct NoticeCatalogue: Sendable {
    /// By name.
    package let kinds: [String: NoticeKind]
    package let wording: any Wording

    /// Kinds must differ in name; digests that are not among them are added.
    package init(_ kinds: [NoticeKind], wording: any Wording) {
        for kind in kinds where kind.mergesHeld {
            precondition(
                kind.listedInDigest.map { kind.fields[$0] != nil } ?? false,
                "\(kind.name) merges: say which of its facts the digest lists")
        }
        let named = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in
            preconditionFailure("two kinds of notice are called \(first.name)")
        }
        let digests = kinds.compactMap(\.digest).map { ($0.name, $0) }
        self.kinds = named.merging(digests) { known, _ in known }
        self.wording = wording
    }

    /// The kinds of notice of some modules, and those of the account.
    ///
    /// - Parameter overrides: an operator's folder of words; nil for none.
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
