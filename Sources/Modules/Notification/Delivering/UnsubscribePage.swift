package import ErrandDelivery
import FoundationEssentials

/// The page of the app server on which people unsubscribe from mails of a kind.
package struct UnsubscribePage: Sendable, CustomStringConvertible {
    private let url: String

    private static let lengthLimit = 700

    /// Creates the page from its URL, to which links add `person` and `kind`.
    ///
    /// - Throws: `DeliverySettingsError` if it is not a plain `https` URL.
    package init(url: String) throws(DeliverySettingsError) {
        let parts = URLComponents(string: url)
        let names = Set((parts?.queryItems ?? []).map(\.name))
        guard let parts, parts.scheme == "https", parts.host?.isEmpty == false, parts.user == nil,
            parts.password == nil, parts.fragment == nil, url.utf8.count <= Self.lengthLimit,
            url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x3C && $0 != 0x3E }),
            names.isDisjoint(with: ["person", "kind"])
        else {
            throw .badValue(
                url, setting: "unsubscribe page",
                expected: "https://host/path in at most \(Self.lengthLimit) ASCII bytes, without "
                    + "a user, a # and the parameters person and kind")
        }
        self.url = url
    }

    /// Returns the link for mails of a kind to a person; nil for kinds that nobody can turn
    /// off.
    func link(for kind: NoticeKind, token: String?) -> UnsubscribeLink? {
        guard let token, !kind.ignoresPreferences else { return nil }
        let joint = !url.contains("?") ? "?" : url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&"
        return UnsubscribeLink(
            url: "\(url)\(joint)person=\(token)&kind=\(kind.chosenAs)", token: token)
    }

    package var description: String { url }
}

/// The unsubscribe link in a mail.
package struct UnsubscribeLink: Sendable {
    package var url: String
    /// The part that identifies the person; it must appear only in mails.
    package var token: String
}
