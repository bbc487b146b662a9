package import ErrandDelivery
import FoundationEssentials

/// The page of the app server on which people switch off mails of one kind.
package struct UnsubscribePage: Sendable, CustomStringConvertible {
    private let url: String

    private static let lengthLimit = 700

    /// Takes the page's address, to which `person` and `kind` are added.
    ///
    /// - Throws: `DeliverySettingsError` when it is no plain `https` address.
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

    /// The link for mails of a kind to somebody; nil for those that cannot be switched off.
    func link(for kind: NoticeKind, token: String?) -> UnsubscribeLink? {
        guard let token, kind.urgency != .urgent else { return nil }
        let joint = !url.contains("?") ? "?" : url.hasSuffix("?") || url.hasSuffix("&") ? "" : "&"
        return UnsubscribeLink(
            url: "\(url)\(joint)person=\(token)&kind=\(kind.chosenAs)", token: token)
    }

    package var description: String { url }
}

/// The way to switch off mails of a kind that stands in a mail of that kind.
package struct UnsubscribeLink: Sendable {
    package var url: String
    /// The part of it that says whose it is, and belongs nowhere but into mails.
    package var token: String
}
