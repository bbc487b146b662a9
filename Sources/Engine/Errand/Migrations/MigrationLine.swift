/// The migrations of the engine or of one module: a line of SQL files with its own version.
///
/// A line has two kinds of files. `tables/NNN_name.sql` are steps: each is applied once, in the
/// order of the numbers, and must not change after a release. `routines/name.sql` hold functions,
/// views and triggers that can be applied repeatedly (`CREATE OR REPLACE`). A routine is applied
/// when its text is one that the database has not had yet, so that an older program does not revert
/// a function. To revert one on purpose, change at least a comment. `routines/rights.sql` is
/// applied last, whenever another file of the line was applied. A step must not call a routine.
public struct MigrationLine: Sendable {
    /// A file of SQL.
    public struct File: Equatable, Sendable {
        /// `tables/NNN_name.sql` or `routines/name.sql`.
        public var path: String
        /// The text of the file.
        public var sql: String

        /// Creates a file; `path` is relative to the line's folder.
        public init(_ path: String, _ sql: String) {
            self.path = path
            self.sql = sql
        }

        var isTableStep: Bool { path.hasPrefix("tables/") }
        var isRights: Bool { path == "routines/rights.sql" }

        /// The checksum of the text: FNV-1a, 64 bits (draft-eastlake-fnv).
        ///
        /// It detects changes, but does not protect against deliberate collisions.
        var checksum: String {
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            let digits = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    /// The names that a module must not have.
    static let reserved: Set<String> = ["engine", "errand"]

    /// The name of the line: `engine`, or the module's name.
    public let module: String
    /// The schema of its objects.
    public let schema: String
    /// The modules whose objects it uses, without the engine, which all need.
    public let needs: [String]
    let tables: [File]
    let routines: [File]

    /// Creates the line of a module.
    ///
    /// - Parameters:
    ///   - module: the name of the module and of its schema.
    ///   - needs: the modules whose tables and functions its SQL uses.
    ///   - files: the files of its folders `tables` and `routines`, in any order. A module without
    ///     tables of its own has no files and needs no installation.
    public init(module: String, needs: [String] = [], files: [File]) {
        self.init(module: module, schema: module, needs: needs, files: files)
    }

    init(module: String, schema: String, needs: [String], files: [File]) {
        self.module = module
        self.schema = schema
        self.needs = needs
        let sorted = files.sorted { $0.path < $1.path }
        tables = sorted.filter(\.isTableStep)
        routines =
            sorted.filter { !$0.isTableStep && !$0.isRights } + sorted.filter(\.isRights)
    }

    /// Whether the line has nothing to install.
    public var isEmpty: Bool { tables.isEmpty && routines.isEmpty }

    var files: [File] { tables + routines }

    /// Returns an older version of the line: only its first table steps.
    package func older(steps: Int) -> MigrationLine {
        MigrationLine(
            module: module, schema: schema, needs: needs, files: Array(tables.prefix(steps)))
    }

    /// The line of the engine: the schema `errand`, without any extension.
    public static let engine = MigrationLine(
        module: "engine", schema: "errand", needs: [],
        files: EmbeddedFiles.migrations.map { File($0.path, $0.text) })
}
