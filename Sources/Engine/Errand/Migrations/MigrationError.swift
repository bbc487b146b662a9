public import ErrandPostgres

/// Why the schema is not as this program needs it, or could not be brought there.
public enum MigrationError: Error, CustomStringConvertible {
    /// No module of this program has that name.
    case unknownModule(String, known: [String])
    /// A module needs another one that this program does not have.
    case missingModule(String, neededBy: String)
    /// Modules that need each other in a circle.
    case circle([String])
    /// A step differs from what was applied under its name.
    case changed(module: String, file: String)
    /// A step was applied that this program does not know.
    case unknown(module: String, file: String)
    /// A file's SQL failed; nothing of the whole run was kept.
    case failed(module: String, file: String, cause: PostgresError)
    /// A file ended the transaction of the whole migration.
    case endedTransaction(module: String, file: String)
    /// Two modules have the same name, or one has that of the engine.
    case nameTaken(String)
    /// The database lacks what this program has.
    case behind(module: String, pending: [String])
    /// The database has no schema of Errand, or a module is not installed in it.
    case notInstalled(module: String)
    /// The schema was made before modules had lines of their own.
    case earlierLayout

    /// What happened, and what to do, in words.
    public var description: String {
        switch self {
        case .unknownModule(let name, let known):
            "there is no module '\(name)': "
                + (known.isEmpty
                    ? "this program has none besides the engine"
                    : "there are \(known.joined(separator: ", ")), and all")
        case .missingModule(let name, let module):
            "the module \(module) needs the module \(name), which this program does not have"
        case .circle(let modules):
            "modules need each other in a circle: \(modules.joined(separator: " → "))"
        case .changed(let module, let file):
            "\(module): \(file) was changed after it had been applied here: restore the file, and "
                + "make the change in a new step"
        case .unknown(let module, let file):
            "\(module): this database has \(file), which this program does not know: it was "
                + "migrated by a newer version; use that one"
        case .failed(let module, let file, let cause):
            "\(module): \(file) failed, and everything was rolled back: \(cause)"
        case .endedTransaction(let module, let file):
            "\(module): \(file) ended the transaction of the migration, and what came before is "
                + "kept: a file of a migration may hold no BEGIN, COMMIT or ROLLBACK; take them "
                + "out, and look at the database before going on"
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
            "this database was made by a development version of Errand, before modules had "
                + "migrations of their own, and cannot be taken over: use a new database"
        }
    }
}
