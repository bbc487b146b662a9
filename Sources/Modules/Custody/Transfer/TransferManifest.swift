import ErrandCrypto
import ErrandPostgres
import FoundationEssentials

/// The content of a transfer archive: `manifest.json`, written last.
struct TransferManifest: Codable, Sendable, Equatable {
    struct Recipient: Codable, Sendable, Equatable {
        var subject: String
        /// The SHA-256 of the certificate.
        var fingerprint: String
    }
    struct Migration: Codable, Sendable, Equatable {
        var module: String
        var file: String
        var checksum: String

        /// Reads the last version of each file that was applied.
        static let all = """
            SELECT DISTINCT ON (module, file) module, file, checksum FROM errand.migrations
            ORDER BY module, file, id DESC
            """

        init(_ row: Row) throws(PostgresError) {
            module = try row.text("module")
            file = try row.text("file")
            checksum = try row.text("checksum")
        }
    }
    /// One sealed file.
    struct Part: Codable, Sendable, Equatable {
        /// Its path in the archive, such as `people/people.0001.cms`.
        var file: String
        var size: Int
        var sha256: String
    }
    struct Table: Codable, Sendable, Equatable {
        var module: String
        /// With its schema.
        var name: String
        /// The columns, as in COPY.
        var columns: String
        var rows: Int
        /// Of all rows in the text format of COPY, before they were sealed.
        var sha256: String
        var parts: [Part]
    }
    struct Sequence: Codable, Sendable, Equatable {
        var name: String
        var lastValue: Int64
    }

    static let name = "manifest.json"
    static let version = 1
    /// Maximum size of the file in bytes.
    private static let longest = 64 * 1_024 * 1_024

    var version = Self.version
    var exportedAt: String
    var database: String
    var recipient: Recipient
    var migrations: [Migration]
    /// The people who are in the archive, and those who are not because they object.
    var people: Int64
    var leftOut: Int64
    /// The names of the keys that sealed values need; the keys themselves are transferred apart.
    var sealingKeys: [String]
    var tables: [Table]
    /// Sealed too, as a module may keep secrets in sequences: JSON, an array of ``Sequence``.
    var sequences: Part

    /// All sealed files.
    var files: [Part] { tables.flatMap(\.parts) + [sequences] }
    var rows: Int { tables.reduce(0) { $0 + $1.rows } }

    /// The file's bytes.
    var encoded: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            encoder.keyEncodingStrategy = .convertToSnakeCase
            return [UInt8](try encoder.encode(self)) + Array("\n".utf8)
        }
    }

    /// Reads the manifest of an archive; returns it with the SHA-256 of its bytes.
    static func read(
        from folder: String
    ) throws(TransferError) -> (manifest: TransferManifest, sha256: [UInt8]) {
        let path = "\(folder)/\(name)"
        guard let data = try? Data(contentsOf: URL(filePath: path)), data.count <= longest else {
            throw .damaged("\(path) is missing, too long or cannot be read: the export did not end")
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let manifest = try? decoder.decode(TransferManifest.self, from: data) else {
            throw .damaged("\(path) is not a manifest")
        }
        guard manifest.version == version else {
            throw .damaged("\(path) has version \(manifest.version), expected \(version)")
        }
        return (manifest, SHA256.digest(of: [UInt8](data)))
    }
}

/// Why an archive was refused.
enum TransferError: Error, Equatable {
    /// It was changed or truncated, or is incomplete.
    case damaged(String)
    /// The key is not the recipient's.
    case wrongKey(String)
    /// It does not fit this database.
    case unfit(String)
}
