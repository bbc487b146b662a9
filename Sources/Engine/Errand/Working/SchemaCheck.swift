import ErrandPostgres

extension Servers {
    /// Throws if the schema is missing, or older than this program.
    ///
    /// A newer schema is only logged: it may be intended, as during the rollout of a new version.
    /// - Throws: ``MigrationError``; `PostgresError` if the server is unreachable.
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
