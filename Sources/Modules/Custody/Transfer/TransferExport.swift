import ErrandCrypto
import ErrandDurableFiles
import ErrandPostgres
import FoundationEssentials

/// Writes a transfer archive: one folder for each module, with sealed files of rows for each table.
struct TransferExport: Sendable {
    let session: Session
    let folder: String
    let recipient: Certificate
    /// The names of the keys that sealed values need.
    let sealingKeys: [String]
    let exportedAt: String

    /// The bytes in one sealed file: it is sealed, and opened again, in memory.
    private static let partSize = 4 * 1_024 * 1_024

    /// Rolls the transaction back.
    private struct Done: Error { let manifest: TransferManifest }

    /// Settings on which the text format of COPY depends.
    static let settings = """
        SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres';
        SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'
        """

    /// Writes everything as of one moment; returns the SHA-256 of the manifest, which is written
    /// last.
    func run() async throws -> (manifest: TransferManifest, sha256: [UInt8]) {
        let manifest: TransferManifest
        do {
            manifest = try await session.transaction { session -> TransferManifest in
                _ = try session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try session.script(Self.settings)
                // It erases those who object, so it must never be committed.
                throw Done(manifest: try write(session))
            }
        } catch let done as Done { manifest = done.manifest }
        let draft = try FileDraft(TransferManifest.name, in: folder)
        try draft.append(try manifest.encoded)
        return (manifest, try draft.publish().sha256)
    }

    private func write(_ session: isolated Session) throws -> TransferManifest {
        let leftOut = try session.query("SELECT custody.leave_out()")[0].int64(0)
        let head = try session.query(
            """
            SELECT current_database()::text AS database,
                (SELECT count(*) FROM people.people WHERE erased_at IS NULL) AS people
            """)[0]
        let migrations = try session.query(TransferManifest.Migration.all)
            .map { row throws(PostgresError) in try TransferManifest.Migration(row) }
        let exported = try session.query(
            "SELECT module, object, columns, copy_out FROM custody.exported()")
        var tables: [TransferManifest.Table] = []
        for row in exported {
            let module = try row.text("module")
            try PrivateFolder.make("\(folder)/\(module)")
            var writer = try PartWriter(
                folder: folder, module: module, table: try row.text("object"),
                recipient: recipient, size: Self.partSize)
            let rows = try session.copyOut(try row.text("copy_out")) { try writer.add($0) }
            tables.append(
                try writer.finish(columns: try row.text("columns"), rows: rows))
        }
        let sequences = try session.query(
            "SELECT object, last_value FROM custody.sequences() WHERE last_value IS NOT NULL"
        ).map { row in
            TransferManifest.Sequence(
                name: try row.text("object"), lastValue: try row.int64("last_value"))
        }
        try PrivateFolder.make("\(folder)/engine")
        let sealed = try PartWriter.write(
            [UInt8](try JSONEncoder().encode(sequences)), to: "engine/sequences.cms", in: folder,
            for: recipient)
        return TransferManifest(
            exportedAt: exportedAt, database: try head.text("database"),
            recipient: .init(
                subject: recipient.subject,
                fingerprint: Hexadecimal.encode(recipient.fingerprint)),
            migrations: migrations, people: try head.int64("people"), leftOut: leftOut,
            sealingKeys: sealingKeys, tables: tables, sequences: sealed)
    }
}

/// Writes the rows of one table to sealed files of a limited size.
private struct PartWriter {
    private let folder: String
    private let module: String
    private let table: String
    private let recipient: Certificate
    private let size: Int
    private let digest: RunningSHA256
    private var rows: [UInt8] = []
    private var parts: [TransferManifest.Part] = []

    init(
        folder: String, module: String, table: String, recipient: Certificate, size: Int
    ) throws(CryptoError) {
        self.folder = folder
        self.module = module
        self.table = table
        self.recipient = recipient
        self.size = size
        digest = try RunningSHA256()
    }

    mutating func add(_ row: [UInt8]) throws {
        rows += row
        if rows.count >= size { try flush() }
    }

    mutating func finish(columns: String, rows count: Int) throws -> TransferManifest.Table {
        if !rows.isEmpty { try flush() }
        return TransferManifest.Table(
            module: module, name: table, columns: columns, rows: count,
            sha256: Hexadecimal.encode(try digest.finish()), parts: parts)
    }

    private mutating func flush() throws {
        try digest.update(rows)
        let number = String(parts.count + 1)
        let name =
            table.replacing("\"", with: "") + "."
            + String(repeating: "0", count: max(0, 4 - number.count)) + number + ".cms"
        parts.append(
            try Self.write(rows, to: "\(module)/\(name)", in: folder, for: recipient))
        rows.removeAll(keepingCapacity: true)
    }

    /// Seals bytes into a file of the archive.
    static func write(
        _ bytes: [UInt8], to path: String, in folder: String, for recipient: Certificate
    ) throws -> TransferManifest.Part {
        let parts = path.split(separator: "/").map(String.init)
        let draft = try FileDraft(parts[1], in: "\(folder)/\(parts[0])")
        try draft.append(try SealedMessage.seal(bytes, to: recipient))
        let file = try draft.publish()
        return TransferManifest.Part(
            file: path, size: file.size, sha256: Hexadecimal.encode(file.sha256))
    }
}
