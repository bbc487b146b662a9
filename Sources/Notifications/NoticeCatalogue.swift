package import FoundationEssentials

/// A notice in words.
package struct NoticeWords: Sendable, Equatable {
    /// The subject of a mail, the title of a push.
    package var title: String
    package var text: String
    /// For mail.
    package var html: String?

    package init(title: String, text: String, html: String? = nil) {
        self.title = title
        self.text = text
        self.html = html
    }
}

/// What puts notices into words.
package protocol Wording: Sendable {
    /// The words of one notice for one channel.
    ///
    /// - Throws: when there are none, or when the data are not what the kind declares; the text
    ///   shows no value.
    func words(
        of kind: String, on channel: NoticeKind.Channel, data: Data
    ) throws -> NoticeWords
}

/// The kinds of notice that a program knows, with their digests, and their words.
package struct NoticeCatalogue: Sendable {
    /// By name.
    package let kinds: [String: NoticeKind]
    package let wording: any Wording

    /// Kinds must differ in name.
    package init(_ kinds: [NoticeKind], wording: any Wording) {
        for kind in kinds where kind.mergesHeld {
            precondition(
                kind.listedInDigest.map { kind.fields[$0] != nil } ?? false,
                "\(kind.name) merges: say which of its facts the digest lists")
        }
        let all = kinds + kinds.compactMap(\.digest)
        self.kinds = Dictionary(all.map { ($0.name, $0) }) { first, _ in
            preconditionFailure("two kinds of notice are called \(first.name)")
        }
        self.wording = wording
    }
}
