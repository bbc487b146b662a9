import ErrandPostgres

extension Servers {
    /// Refuses a schema that is missing, or older than this program.
    ///
    /// One that is ahead of it may be meant, as while a new version is rolled out, and is only
    /// logged.
    /// - Throws: ``MigrationError``; `PostgresError` when the server cannot be reached.
    func requireSchema(of modules: [MigrationLine], _ log: Log) async throws {
        let session = Session(settings("errand-migrations", setup: []))
        let ahead = try await Migrator(session: session, modules: modules).requireCurrent()
        await session.close()
        for module in ahead {
            guard let file = module.deviating else { continue }
            log.with("module", module.module).with("file", file.path).warning(
                "the schema is \(file.state.rawValue) to this program: another version migrated it")
        }
    }
}
