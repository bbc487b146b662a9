public import ErrandPostgres

/// Why a schema does not fit this program, or why a migration failed.
public enum MigrationError: Error, CustomStringConvertible {
    /// The program has no module of this name.
    case unknownModule(String, known: [String])
    /// A module needs another one that the program does not have.
    case missingModule(String, neededBy: String)
    /// Modules depend on each other in a cycle.
    case cycle([String])
    /// A step differs from the version that was applied.
    case changed(module: String, file: String)
    /// The database has a step that the program does not have.
    case unknown(module: String, file: String)
    /// The SQL of a file failed; the whole migration was rolled back.
    case failed(module: String, file: String, cause: PostgresError)
    /// Another session held the lock of migrations for too long.
    case locked(by: String)
    /// A file ended the transaction of the migration.
    case endedTransaction(module: String, file: String)
    /// Two modules have the same name, or a module has that of the engine.
    case nameTaken(String)
    /// The schema of a module is older than the program.
    case behind(module: String, pending: [String])
    /// The database has no schema of Errand, or lacks a module.
    case notInstalled(module: String)
    /// A development version of Errand, before the migrations of modules, created the schema.
    case earlierLayout

    /// The message for people: what happened and what to do.
    public var description: String {
        switch self {
        case .unknownModule(let name, let known):
            "there is no module '\(name)': "
                + (known.isEmpty
                    ? "this program has only the engine"
                    : "modules: \(known.joined(separator: ", ")), all")
        case .missingModule(let name, let module):
            "the module \(module) needs the module \(name), which this program does not have"
        case .cycle(let modules):
            "modules depend on each other in a cycle: \(modules.joined(separator: " → "))"
        case .changed(let module, let file):
            "\(module): \(file) was changed after it was applied: restore the file, and make the "
                + "change in a new step"
        case .unknown(let module, let file):
            "\(module): this database has \(file), which this program does not have: use the newer "
                + "version of the program that migrated it"
        case .failed(let module, let file, let cause):
            "\(module): \(file) failed, and everything was rolled back: \(cause)"
        case .locked(let holder):
            "timed out waiting for the lock of migrations, which \(holder) holds: try again when "
                + "it has ended; if it is not a migration, end it with pg_terminate_backend()"
        case .endedTransaction(let module, let file):
            "\(module): \(file) ended the transaction of the migration, so earlier changes were "
                + "committed: remove BEGIN, COMMIT and ROLLBACK from the file, and check the "
                + "database before you continue"
        case .nameTaken(let name):
            "two modules are called \(name)"
                + (MigrationLine.reserved.contains(name)
                    ? ": that is the engine's name" : ": give one of them another name")
        case .behind(let module, let pending):
            "the database's schema is older than this program: \(module) lacks "
                + pending.prefix(3).joined(separator: ", ")
                + (pending.count > 3 ? " and \(pending.count - 3) more" : "")
        case .notInstalled(let module):
            module == MigrationLine.engine.module
                ? "the database lacks the schema of Errand"
                : "the module \(module) is not installed in this database"
        case .earlierLayout:
            "this database was made by a development version of Errand and cannot be upgraded: "
                + "use a new database"
        }
    }
}
