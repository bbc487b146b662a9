import ErrandPrivateFiles

/// Why a key file is invalid.
///
/// It names the line without its content.
package enum KeyFileError: Error, Equatable, CustomStringConvertible {
    /// The file does not exist or is not readable.
    case unreadable(file: String)
    /// The path is that of a directory, a device or the like.
    case notAFile(file: String)
    /// All users of the machine may read or write the file.
    case openToAll(file: String)
    /// The file is too long for a list of keys.
    case tooLong(file: String)
    /// A line is not a valid key.
    case badLine(Int, reason: String)
    /// The file contains no key.
    case empty

    /// The message for people: what is wrong and what to do.
    package var description: String {
        switch self {
        case .unreadable(let file):
            "\(file) cannot be read; check the path and its permissions"
        case .notAFile(let file):
            "\(file) is not a file"
        case .openToAll(let file):
            "\(file) is accessible to all users of this machine: chmod o= \(file)"
        case .tooLong(let file):
            "\(file) is longer than \(KeyFile.limit) bytes; expected one key per line"
        case .badLine(let number, let reason):
            "line \(number): \(reason)"
        case .empty:
            "the file contains no key; expected one key per line: NAME and 32 bytes in base64"
        }
    }
}

/// The text form of sealing keys, one per line: `NAME BASE64`.
///
/// Empty lines and lines that begin with `#` are ignored. The first key seals; all keys open.
package enum KeyFile {
    static let limit = 65_536

    /// Reads a file of keys.
    package static func read(_ file: String) throws(KeyFileError) -> SealingKeys {
        try keys(of: try text(of: file))
    }

    /// Parses the text of a key file.
    package static func keys(of text: String) throws(KeyFileError) -> SealingKeys {
        var keys: [(line: Int, key: SealingKey)] = []
        let lines = text.split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in zip(1..., lines) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            let key = try key(words, number)
            // Show neither the name nor the key: they may be swapped.
            if let other = keys.first(where: { $0.key.id == key.id }) {
                throw .badLine(number, reason: "the same name as on line \(other.line)")
            }
            if let other = keys.first(where: { $0.key.secret == key.secret }) {
                throw .badLine(number, reason: "the same key as on line \(other.line)")
            }
            keys.append((number, key))
        }
        guard let current = keys.first?.key else { throw .empty }
        do {
            return try SealingKeys(current: current, older: keys.dropFirst().map(\.key))
        } catch {
            throw .badLine(keys[0].line, reason: "\(error)")
        }
    }

    /// Returns a line with a new random key.
    ///
    /// - Throws: ``CryptoError/badSealingKey(_:)`` for an invalid name.
    package static func newLine(name: String) throws(CryptoError) -> String {
        let key = try SealingKey(id: name, secret: .random(AESGCM.keySize))
        return "\(key.id) \(base64(key.secret))"
    }

    private static func key(
        _ words: [Substring], _ number: Int
    ) throws(KeyFileError) -> SealingKey {
        guard words.count == 2 else {
            throw .badLine(number, reason: "expected NAME and 32 bytes in base64")
        }
        guard let secret = secret(words[1]) else {
            throw .badLine(
                number, reason: "after the name, expected 32 bytes in base64: 44 characters")
        }
        do {
            return try SealingKey(id: String(words[0]), secret: secret)
        } catch {
            throw .badLine(number, reason: "\(error)")
        }
    }

    /// Decodes the standard base64 (RFC 4648 section 4) of a key.
    private static func secret(_ text: Substring) -> SecretBytes? {
        guard text.utf8.count == 44, text.hasSuffix("="), !text.contains("-"), !text.contains("_")
        else { return nil }
        let digits = text.dropLast().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return Base64URL.decode(String(digits)).map { SecretBytes($0) }
    }

    private static func base64(_ secret: SecretBytes) -> String {
        let digits = Base64URL.encode(secret.bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(digits) + "="
    }

    private static func text(of file: String) throws(KeyFileError) -> String {
        let bytes: [UInt8]
        do throws(PrivateFileError) {
            bytes = try PrivateFile.read(file, limit: limit)
        } catch {
            switch error {
            case .unreadable: throw .unreadable(file: file)
            case .notAFile: throw .notAFile(file: file)
            case .openToAll: throw .openToAll(file: file)
            case .tooLong: throw .tooLong(file: file)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .badLine(1, reason: "the file is not a text file; expected one key per line")
        }
        return text
    }
}
