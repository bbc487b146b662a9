import ErrandPrivateFiles
import FoundationEssentials

/// An error in a provider's settings, found at startup; never contains the content of a file.
package enum DeliverySettingsError: Error, Equatable, CustomStringConvertible {
    /// A file that cannot be read.
    case unreadable(file: String, setting: String)
    /// A file with a secret that all users of the machine may read or write.
    case openToAll(file: String, setting: String)
    /// A file with unexpected content.
    case malformed(file: String, expected: String)
    /// An invalid value.
    case badValue(String, setting: String, expected: String)

    /// The error and the next step.
    package var description: String {
        switch self {
        case .unreadable(let file, let setting):
            "\(setting): cannot read \(file); check its path and permissions"
        case .openToAll(let file, let setting):
            "\(setting): \(PrivateFile.openToAll(file)): \(PrivateFile.remedy(file))"
        case .malformed(let file, let expected):
            "\(file): expected \(expected)"
        case .badValue(let value, let setting, let expected):
            "\(setting) \"\(Self.shown(value))\": expected \(expected)"
        }
    }

    /// Returns the value, or `***` if it may be a password or a misplaced key.
    private static func shown(_ value: String) -> String {
        value.utf8.count <= 100 && value.isOneLine && !value.contains("@") ? value : "***"
    }

    /// Returns the text of a file that holds a secret.
    static func text(of file: String, for setting: String) throws(DeliverySettingsError) -> String {
        let bytes: [UInt8]
        do throws(PrivateFileError) {
            bytes = try PrivateFile.read(file, limit: 65_536)
        } catch {
            guard error != .openToAll else { throw .openToAll(file: file, setting: setting) }
            throw .unreadable(file: file, setting: setting)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .unreadable(file: file, setting: setting)
        }
        return text
    }

    /// Returns the URL without a trailing slash; requires `https`, as it carries a token.
    static func base(
        _ url: String, setting: String
    ) throws(DeliverySettingsError) -> String {
        guard let parts = URLComponents(string: url), parts.scheme == "https",
            parts.host?.isEmpty == false, parts.query == nil, parts.user == nil, url.isOneLine
        else { throw .badValue(url, setting: setting, expected: "https://host:port") }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
