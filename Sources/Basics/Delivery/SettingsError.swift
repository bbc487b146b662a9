import FoundationEssentials

/// Why a provider's settings are refused when the program starts; never holds what a file holds.
package enum DeliverySettingsError: Error, Equatable, CustomStringConvertible {
    /// A file that cannot be read.
    case unreadable(file: String, setting: String)
    /// A file that holds something else than it should.
    case malformed(file: String, expected: String)
    /// A value that is not what it should be.
    case badValue(String, setting: String, expected: String)

    /// What is wrong and what to do.
    package var description: String {
        switch self {
        case .unreadable(let file, let setting):
            "\(setting): \(file) cannot be read; check the path and who may read it"
        case .malformed(let file, let expected):
            "\(file): expected \(expected)"
        case .badValue(let value, let setting, let expected):
            "\(setting) \"\(Self.shown(value))\": expected \(expected)"
        }
    }

    /// Without what may be a password, or a key that was put in the wrong place.
    private static func shown(_ value: String) -> String {
        value.utf8.count <= 100 && value.isOneLine && !value.contains("@") ? value : "***"
    }

    static func text(of file: String, for setting: String) throws(DeliverySettingsError) -> String {
        guard let bytes = try? Data(contentsOf: URL(filePath: file)), bytes.count <= 65_536,
            let text = String(validating: bytes, as: UTF8.self)
        else { throw .unreadable(file: file, setting: setting) }
        return text
    }

    /// The URL without a slash at its end; nothing but `https` may carry a token.
    static func base(
        _ url: String, setting: String
    ) throws(DeliverySettingsError) -> String {
        guard let parts = URLComponents(string: url), parts.scheme == "https",
            parts.host?.isEmpty == false, parts.query == nil, parts.user == nil, url.isOneLine
        else { throw .badValue(url, setting: setting, expected: "https://host:port") }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
