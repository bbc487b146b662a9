@testable import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The migrator", .database) struct MigratorTests {
    private static let tables = [
        MigrationLine.File(
            "tables/001_shop.sql",
            """
            CREATE SCHEMA shop;
            CREATE TABLE shop.orders (id bigint PRIMARY KEY);
            """)
    ]
    /// The first calls the second, which comes later by its name.
    private static let routines = [
        MigrationLine.File(
            "routines/counting.sql",
            """
            CREATE OR REPLACE FUNCTION shop.twice() RETURNS bigint LANGUAGE sql AS $$
                SELECT 2 * shop.orders()
            $$;
            """),
        MigrationLine.File(
            "routines/orders.sql",
            """
            CREATE OR REPLACE FUNCTION shop.orders() RETURNS bigint LANGUAGE sql AS $$
                SELECT count(*) FROM shop.orders
            $$;
            """),
        MigrationLine.File(
            "routines/rights.sql",
            "GRANT SELECT ON shop.orders TO PUBLIC"),
    ]

    private func shop(_ files: [MigrationLine.File] = tables + routines) -> MigrationLine {
        MigrationLine(module: "shop", files: files)
    }

    /// A session of a database of its own, with these lines known.
    private func withShop(
        _ body: (Session, @escaping @Sendable (MigrationLine) -> Migrator) async throws -> Void
    ) async throws {
        let url = try await TestDatabase.url(with: [])
        let session = Session(SessionSettings(url, name: "migrator"))
        try await body(session) { Migrator(session: session, modules: [$0]) }
        await session.close()
    }

    /// Everything that a dump of the schema would show, roughly: names and definitions.
    private func schema(_ session: Session) async throws -> String {
        try await session.query(
            """
            SELECT coalesce(string_agg(o.text, E'\n' ORDER BY o.text), '') FROM (
                SELECT c.oid::regclass || ' ' || a.attname AS text FROM pg_class c
                JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_attribute a ON a.attrelid = c.oid
                WHERE n.nspname !~ '^(pg_|information_schema)'
                UNION ALL
                SELECT pg_get_functiondef(p.oid) FROM pg_proc p
                JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname !~ '^(pg_|information_schema)' AND p.prokind = 'f'
                UNION ALL
                SELECT m.module || '/' || m.file || m.checksum FROM errand.migrations m
            ) o
            """
        ).text(0, 0)
    }

    @Test func `functions of one module may call each other whatever their files`() async throws {
        try await withShop { session, migrator in
            let applied = try await migrator(shop()).migrate(adding: ["shop"])
            #expect(
                applied.map(\.file) == [
                    "tables/001_shop.sql", "routines/counting.sql", "routines/orders.sql",
                    "routines/rights.sql",
                ])
            try await session.script("INSERT INTO shop.orders VALUES (1), (2)")
            #expect(try await session.query("SELECT shop.twice()").int64(0, 0) == 4)
            #expect(try await migrator(shop()).migrate().isEmpty)
        }
    }

    @Test func `a routine that has changed is applied again, and the rights after it`()
        async throws
    {
        try await withShop { session, migrator in
            try await migrator(shop()).migrate(adding: ["shop"])
            var changed = Self.routines
            changed[1].sql = changed[1].sql.replacing("count(*)", with: "count(*) + 10")
            let newer = shop(Self.tables + changed)
            #expect(try await migrator(newer).status().last?.pending == ["routines/orders.sql"])
            let applied = try await migrator(newer).migrate()
            #expect(applied.map(\.file) == ["routines/orders.sql", "routines/rights.sql"])
            #expect(try await session.query("SELECT shop.twice()").int64(0, 0) == 20)
            // The older program finds the text that it knows superseded, and leaves it alone.
            let older = try await migrator(shop()).status().last
            #expect(older?.deviating?.state == .superseded)
            #expect(try await migrator(shop()).migrate().isEmpty)
            #expect(try await migrator(shop()).requireCurrent().map(\.module) == ["shop"])
            #expect(try await session.query("SELECT shop.twice()").int64(0, 0) == 20)
        }
    }

    @Test(
        "a file that fails leaves everything as it was",
        arguments: [
            (
                file: "routines/orders.sql",
                sql: """
                CREATE OR REPLACE FUNCTION shop.orders() RETURNS bigint LANGUAGE sql AS $$
                    SELECT count(*) FROM shop.no_such_table
                $$;
                """, error: "no_such_table"
            ),
            (
                "routines/orders.sql",
                """
                CREATE OR REPLACE FUNCTION shop.orders() RETURNS bigint LANGUAGE plpgsql AS $$
                BEGIN
                    RETURN 1
                END $$;
                """, "syntax error"
            ),
            ("tables/002_more.sql", "CREATE TABLE shop.more (; )", "syntax error"),
            ("tables/002_more.sql", "CREATE TABLE shop.orders ()", "already exists"),
            ("routines/zebra.sql", "SELECT 1 / 0", "division by zero"),
        ])
    func failure(file: String, sql: String, error: String) async throws {
        try await withShop { session, migrator in
            let before = try await schema(session)
            let fresh = shop(
                (Self.tables + Self.routines).filter { $0.path != file } + [.init(file, sql)])
            for isInstalled in [false, true] {
                if isInstalled { try await migrator(shop()).migrate(adding: ["shop"]) }
                let held = isInstalled ? try await schema(session) : before
                let thrown = await #expect(throws: MigrationError.self) {
                    try await migrator(fresh).migrate(adding: ["shop"])
                }
                let text = thrown?.description ?? ""
                #expect(text.contains("shop: \(file) failed") && text.contains(error), "\(text)")
                #expect(try await schema(session) == held)
            }
        }
    }

    @Test func `one module that fails leaves the others uninstalled too`() async throws {
        try await withShop { session, _ in
            let before = try await schema(session)
            let bad = MigrationLine(
                module: "bad", needs: ["shop"], files: [.init("tables/001_bad.sql", "SELECT 1 / 0")]
            )
            await #expect(throws: MigrationError.self) {
                try await Migrator(session: session, modules: [bad, shop()])
                    .migrate(adding: ["bad"])
            }
            #expect(try await schema(session) == before)
        }
    }

    @Test func `a step that was changed, or is unknown, is refused`() async throws {
        try await withShop { session, migrator in
            try await migrator(shop()).migrate(adding: ["shop"])
            var changed = Self.tables
            changed[0].sql += "\n-- changed"
            let error = await #expect(throws: MigrationError.self) {
                try await migrator(shop(changed + Self.routines)).migrate()
            }
            #expect(error?.description.contains("tables/001_shop.sql was changed") == true)
            let more = Self.tables + [.init("tables/002_more.sql", "CREATE TABLE shop.more ()")]
            try await migrator(shop(more + Self.routines)).migrate()
            let unknown = await #expect(throws: MigrationError.self) {
                try await migrator(shop()).migrate()
            }
            #expect(unknown?.description.contains("the newer version") == true)
            // A worker of the older program goes on.
            #expect(try await migrator(shop()).requireCurrent().count == 1)
        }
    }

    @Test func `a worker refuses a schema that is missing, or older than its program`()
        async throws
    {
        let redis = try TestDatabase.here().redis
        func refusal(_ url: String, _ modules: [MigrationLine]) async -> String {
            let worker = Worker(
                servers: Servers(database: url, redis: redis), kinds: JobKinds(),
                options: WorkerOptions(), log: .silent, modules: modules)
            let error = await #expect(throws: MigrationError.self) {
                _ = try await worker.run(until: Stop())
            }
            return error?.description ?? ""
        }
        let empty = try await TestDatabase.url(with: nil)
        #expect(await refusal(empty, []) == "the database lacks the schema of Errand")
        let url = try await TestDatabase.url(with: [])
        #expect(await refusal(url, [shop()]).contains("shop is not installed"))
        let session = Session(SessionSettings(url, name: "migrator"))
        try await Migrator(session: session, modules: [shop()]).migrate(adding: ["shop"])
        let more = shop(
            Self.tables + Self.routines + [.init("tables/002_more.sql", "SELECT 1")])
        #expect(
            await refusal(url, [more])
                == "the database's schema is older than this program: shop lacks "
                + "tables/002_more.sql")
        try await session.script(
            "DELETE FROM errand.migrations WHERE file = 'routines/enqueueing.sql'")
        #expect(await refusal(url, []).contains("engine lacks routines/enqueueing.sql"))
        let old = try await TestDatabase.url(with: nil)
        let development = Session(SessionSettings(old, name: "migrator"))
        try await development.script("CREATE TABLE public.errand_migrations (number int)")
        #expect(await refusal(old, []).contains("made by a development version"))
        await session.close()
        await development.close()
    }

    @Test func `whoever waited for another migration sees what it did`() async throws {
        let url = try await TestDatabase.url(with: nil)
        func session(_ name: String) -> Session { Session(SessionSettings(url, name: name)) }
        let (holder, one, two) = (session("holder"), session("one"), session("two"))
        // Both have seen that there is nothing, and remember it.
        for waiter in [one, two] { _ = try await Migrator(session: waiter).status() }
        try await holder.script("BEGIN; SELECT pg_advisory_xact_lock(\(Migrator.lock))")
        // Few changes: after many, the server has every session look at them by itself.
        let engine = MigrationLine.engine.older(steps: 1)
        async let first = Migrator(session: one, engine: engine).migrate()
        async let second = Migrator(session: two, engine: engine).migrate()
        try await eventually("both wait") {
            try await holder.query(
                """
                SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()
                """
            ).int64(0, 0) == 2
        }
        try await holder.script("COMMIT")
        let counts = try await [first.count, second.count]
        #expect(counts.min() == 0 && counts.max()! > 0)
        for session in [holder, one, two] { await session.close() }
    }

    @Test(arguments: ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK AND CHAIN"])
    func `a file that ends the transaction is named, and nothing goes on`(
        _ end: String
    ) async throws {
        try await withShop { session, migrator in
            let file = MigrationLine.File("tables/002_more.sql", "SELECT 1; \(end)")
            let later = MigrationLine.File("tables/003_never.sql", "CREATE TABLE shop.never ()")
            let line = shop(Self.tables + [file, later])
            let error = await #expect(throws: MigrationError.self) {
                try await migrator(line).migrate(adding: ["shop"])
            }
            #expect(
                error?.description.contains("shop: tables/002_more.sql ended the transaction")
                    == true, "\(error.map(String.init(describing:)) ?? "")")
            let never = try await session.query("SELECT to_regclass('shop.never')::text")
            #expect(try never[0].optionalText(0) == nil)
        }
    }

    @Test func `rights that another version has replaced stay replaced`() async throws {
        try await withShop { session, migrator in
            let old = shop()
            _ = try await migrator(old).migrate(adding: ["shop"])
            var rights = Self.routines
            rights[2].sql = "REVOKE ALL ON shop.orders FROM PUBLIC"
            _ = try await migrator(shop(Self.tables + rights)).migrate()
            var more = Self.routines
            more[0].sql += "-- once more"
            let applied = try await migrator(shop(Self.tables + more)).migrate()
            #expect(applied.map(\.file) == ["routines/counting.sql"])
            #expect(
                try await !session.query(
                    "SELECT has_table_privilege('public', 'shop.orders', 'SELECT')"
                ).bool(0, 0))
        }
    }

    @Test func `a step that takes away what a function calls is refused`() async throws {
        try await withShop { session, migrator in
            let one = MigrationLine.File(
                "routines/one.sql",
                "CREATE OR REPLACE FUNCTION shop.one() RETURNS bigint LANGUAGE sql "
                    + "AS $$ SELECT count(*) FROM shop.orders $$")
            _ = try await migrator(shop(Self.tables + [one])).migrate(adding: ["shop"])
            let before = try await schema(session)
            let drop = MigrationLine.File("tables/002_drop.sql", "DROP TABLE shop.orders")
            await #expect(throws: MigrationError.self) {
                try await migrator(shop(Self.tables + [drop, one])).migrate()
            }
            #expect(try await schema(session) == before)
        }
    }
}
