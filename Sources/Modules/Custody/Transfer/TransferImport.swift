import ErrandCrypto
import ErrandPostgres

/// Imports a verified archive into an empty database, in one transaction.
struct TransferImport: Sendable {
    let archive: TransferArchive
    let key: OpeningKey
    let session: Session

    /// Checks the archive against this database, without changes.
    ///
    /// - Throws: ``TransferError/unfit(_:)`` if the migrations or tables differ.
    func check() async throws {
        let own = try await session.query(TransferManifest.Migration.all)
            .map { row throws(PostgresError) in try TransferManifest.Migration(row) }
        let theirs = archive.manifest.migrations
        if let missing = theirs.first(where: { !own.contains($0) }) {
            throw TransferError.unfit(
                "the archive has the migration \(missing.module)/\(missing.file) in a version that "
                    + "this database does not have")
        }
        if let more = own.first(where: { !theirs.contains($0) }) {
            throw TransferError.unfit(
                "this database has the migration \(more.module)/\(more.file) in a version that the "
                    + "archive does not have")
        }
    }

    /// Imports all tables; takes effect as a whole or not at all.
    ///
    /// - Parameter notes: statements to run in the same transaction.
    func run(notes: [Statement]) async throws {
        let (archive, key) = (archive, key)
        try await session.transaction { session in
            try session.script(TransferExport.settings)
            _ = try session.query("SELECT custody.begin_import()")
            var tables = Dictionary(
                archive.manifest.tables.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            for row in try session.query("SELECT object, columns, copy_in FROM custody.exported()")
            {
                let name = try row.text("object")
                // Commands come from this database alone, never from the archive.
                guard let table = tables.removeValue(forKey: name),
                    table.columns == (try row.text("columns"))
                else { throw TransferError.unfit("the archive has no table \(name) like ours") }
                var reader = try TableReader(archive: archive, table: table, key: key)
                let rows = try session.copyIn(try row.text("copy_in")) { try reader.next() }
                guard rows == table.rows else {
                    throw TransferError.damaged("\(name): \(rows) of \(table.rows) rows")
                }
            }
            if let more = tables.keys.min() {
                throw TransferError.unfit("this database has no table \(more)")
            }
            let sequences = try archive.sequences(with: key)
            _ = try session.query(
                "SELECT custody.end_import($1, $2)",
                [
                    .textArray(sequences.map(\.name)), .int64Array(sequences.map(\.lastValue)),
                ])
            _ = try session.pipeline(notes)
        }
    }
}
