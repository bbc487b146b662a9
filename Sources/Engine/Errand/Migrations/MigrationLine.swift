/// The SQL of the engine or of one module: a line of migrations that goes forward by itself.
///
/// Its files are of two sorts. `tables/NNN_name.sql` are steps: each is applied once, in the order
/// of the numbers, and never changes after a release. `routines/name.sql` hold functions, views and
/// triggers, each written so that it can be applied again (`CREATE OR REPLACE`); a file is applied
/// whenever it has changed to a text that the database has not had yet: an older program must not
/// take a function back, so one that is to be what it was gets at least another comment.
/// `routines/rights.sql` comes last, and again whenever anything of the
/// line was applied. A step never calls a routine.
public struct MigrationLine: Sendable {
    /// One file of SQL.
    public struct File: Equatable, Sendable {
        /// `tables/NNN_name.sql` or `routines/name.sql`.
        public var path: String
        /// What the file holds.
        public var sql: String

        /// A file with its path below the line's folder.
        public init(_ path: String, _ sql: String) {
            self.path = path
            self.sql = sql
        }

        var isTableStep: Bool { path.hasPrefix("tables/") }
        var isRights: Bool { path == "routines/rights.sql" }

        /// Differs when the text does: FNV-1a, 64 bits (draft-eastlake-fnv).
        ///
        /// It finds changes; it is no protection against somebody who makes them.
        var checksum: String {
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            let digits = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    /// Names that no module may have.
    static let reserved: Set<String> = ["engine", "errand"]

    /// What the line is called: `engine`, or the module's name.
    public let module: String
    /// The schema in which it makes its objects.
    public let schema: String
    /// The modules whose objects it uses; the engine is needed by all and not named.
    public let needs: [String]
    let tables: [File]
    let routines: [File]

    /// The line of a module.
    ///
    /// - Parameters:
    ///   - module: its name, which is that of its schema too.
    ///   - needs: the modules whose tables and functions its SQL names.
    ///   - files: the files of its folders `tables` and `routines`, in any order. A module without
    ///     tables of its own has none, and needs no installation.
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

    /// Whether there is nothing to install.
    public var isEmpty: Bool { tables.isEmpty && routines.isEmpty }

    var files: [File] { tables + routines }

    /// What an older version of the line was: its first table steps and no more.
    package func older(steps: Int) -> MigrationLine {
        MigrationLine(
            module: module, schema: schema, needs: needs, files: Array(tables.prefix(steps)))
    }

    /// The line of the engine: the schema `errand`, without any extension.
    public static let engine = MigrationLine(
        module: "engine", schema: "errand", needs: [],
        files: EmbeddedFiles.migrations.map { File($0.path, $0.text) })
}
