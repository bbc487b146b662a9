public import ErrandPostgres

/// Where the engine or one module stands in a database.
public struct ModuleStatus: Sendable {
    /// One file of the module.
    public struct File: Sendable {
        /// Where a file stands.
        public enum State: String, Sendable {
            /// The database has it as this program has it.
            case applied
            /// The database lacks it, or has an older text of a routine.
            case pending
            /// A step differs from what was applied.
            case changed
            /// The database has it, and this program does not.
            case unknown
            /// The database has a newer text of a routine, by a newer version of the program.
            case superseded
        }

        /// `tables/NNN_name.sql` or `routines/name.sql`.
        public let path: String
        /// Where it stands.
        public let state: State
        /// When it was applied last.
        public let appliedAt: Instant?
    }

    /// `engine`, or the module's name.
    public let module: String
    /// The modules that it needs.
    public let needs: [String]
    /// Whether this program has the module.
    public let isKnown: Bool
    /// When it was installed; nil when it is not.
    public let installedAt: Instant?
    /// The files that the program or the database knows; those of a module that is not installed
    /// are pending.
    public let files: [File]

    /// Whether the database has it.
    public var isInstalled: Bool { installedAt != nil }

    /// The paths of the files that wait to be applied.
    public var pending: [String] { files.filter { $0.state == .pending }.map(\.path) }

    /// A file in whose state the database is ahead of the program, or differs from it.
    public var deviating: File? {
        files.first { ![.applied, .pending].contains($0.state) }
    }
}
