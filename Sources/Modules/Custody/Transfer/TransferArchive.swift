import ErrandCrypto
import FoundationEssentials

/// Reads and verifies a transfer archive.
struct TransferArchive: Sendable {
    let folder: String
    let manifest: TransferManifest
    /// The SHA-256 of the manifest, in which the hashes of all files are.
    let sha256: [UInt8]

    init(folder: String) throws(TransferError) {
        self.folder = folder
        (manifest, sha256) = try TransferManifest.read(from: folder)
        for part in manifest.files {
            let names = part.file.split(separator: "/", omittingEmptySubsequences: false)
            guard names.count == 2, names.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(".") })
            else { throw .damaged("the manifest names a file outside of its archive") }
        }
    }

    /// Verifies the hash of each file; with a key also that each opens, and that the rows are those
    /// that were exported.
    func verify(with key: OpeningKey?) throws {
        guard let key else {
            for part in manifest.files { _ = try sealed(part) }
            return
        }
        _ = try sequences(with: key)
        for table in manifest.tables {
            var reader = try TableReader(archive: self, table: table, key: key)
            while try reader.next() != nil {}
        }
    }

    /// The sequences and their last values.
    func sequences(with key: OpeningKey) throws -> [TransferManifest.Sequence] {
        let bytes = try open(manifest.sequences, with: key)
        return try JSONDecoder().decode([TransferManifest.Sequence].self, from: Data(bytes))
    }

    /// The content of a file.
    func open(
        _ part: TransferManifest.Part, with key: OpeningKey
    ) throws(TransferError) -> [UInt8] {
        let sealed = try sealed(part)
        do throws(CryptoError) { return try key.open(sealed) } catch {
            throw .wrongKey(
                "\(part.file) does not open with this key, or was changed: it was sealed to "
                    + manifest.recipient.subject)
        }
    }

    /// The bytes of a file.
    func sealed(_ part: TransferManifest.Part) throws(TransferError) -> [UInt8] {
        guard let data = try? Data(contentsOf: URL(filePath: "\(folder)/\(part.file)")) else {
            throw .damaged("\(part.file) is missing or cannot be read")
        }
        let bytes = [UInt8](data)
        guard bytes.count == part.size else {
            throw .damaged("\(part.file) has \(bytes.count) bytes, expected \(part.size)")
        }
        guard Hexadecimal.encode(SHA256.digest(of: bytes)) == part.sha256 else {
            throw .damaged("\(part.file) was changed: its SHA-256 is not that of the manifest")
        }
        return bytes
    }
}

/// Reads the rows of one table from its sealed files, one file at a time.
struct TableReader {
    private let archive: TransferArchive
    private let table: TransferManifest.Table
    private let key: OpeningKey
    private let digest: RunningSHA256
    private var part = 0
    private var rows = 0

    init(
        archive: TransferArchive, table: TransferManifest.Table, key: OpeningKey
    ) throws(CryptoError) {
        self.archive = archive
        self.table = table
        self.key = key
        digest = try RunningSHA256()
    }

    /// The rows of the next file in the text format of COPY; nil after the last.
    ///
    /// - Throws: `TransferError`, also instead of nil if the rows are not those that were exported.
    mutating func next() throws -> [UInt8]? {
        guard part < table.parts.count else {
            guard rows == table.rows, Hexadecimal.encode(try digest.finish()) == table.sha256 else {
                throw TransferError.damaged(
                    "\(table.name) has other rows than were exported: \(rows) of \(table.rows)")
            }
            return nil
        }
        let bytes = try archive.open(table.parts[part], with: key)
        part += 1
        // COPY escapes line breaks in values.
        rows += bytes.count { $0 == UInt8(ascii: "\n") }
        try digest.update(bytes)
        return bytes
    }
}
