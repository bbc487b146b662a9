public import ErrandPostgres

/// The migration status of the engine or of one module in a database.
public struct ModuleStatus: Sendable {
    /// A file of the module.
    public struct File: Sendable {
        /// The status of a file.
        public enum State: String, Sendable {
            /// The database has the same text as this program.
            case applied
            /// The database lacks the file, or has an older text of a routine.
            case pending
            /// A step differs from the version that was applied.
            case changed
            /// The database has the file, but this program does not.
            case unknown
            /// The database has a newer text of a routine, from a newer version of the program.
            case superseded
        }

        /// `tables/NNN_name.sql` or `routines/name.sql`.
        public let path: String
        /// The status.
        public let state: State
        /// The time of the last application.
        public let appliedAt: Instant?
    }

    /// `engine`, or the module's name.
    public let module: String
    /// The modules that it needs.
    public let needs: [String]
    /// Whether this program has the module.
    public let isKnown: Bool
    /// The time of the installation; nil if the module is not installed.
    public let installedAt: Instant?
    /// The files of the program and of the database; all pending if the module is not installed.
    public let files: [File]

    /// Whether the module is installed.
    public var isInstalled: Bool { installedAt != nil }

    /// The paths of the pending files.
    public var pending: [String] { files.filter { $0.state == .pending }.map(\.path) }

    /// The first file for which the database is newer than the program, or differs from it.
    public var deviating: File? {
        files.first { ![.applied, .pending].contains($0.state) }
    }
}
