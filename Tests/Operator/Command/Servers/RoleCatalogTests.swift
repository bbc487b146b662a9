import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// What the catalog says that each role may do, and what `scripts/attack` finds that each login may
/// do.
@Suite("Rights in the catalog", .serialized, .database) struct RoleCatalogTests {
    private static let schemas = """
        ('errand', 'people', 'notification', 'accounts', 'establishments', 'badges', 'coupons',
            'ledger', 'payouts', 'votes', 'missions', 'surveys', 'reports', 'news', 'inquiries',
            'household')
        """
    private static let roles = """
        unnest('{errand_worker,errand_scheduler,errand_app,errand_till,errand_inspector,\
        errand_autoscaler}'::text[])
        """

    @Test func `no role owns, makes or empties anything, or passes its rights on`() async throws {
        let ground = try await RoleGround.shared
        let owned = try await ground.list(
            """
            SELECT DISTINCT pg_get_userbyid(c.relowner)::text FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN \(Self.schemas)
            """)
        #expect(owned == ["errand_owner"])
        let able = try await ground.list(
            """
            SELECT r.name || ' ' || n.nspname FROM \(Self.roles) AS r (name), pg_namespace n
            WHERE has_schema_privilege(r.name, n.oid, 'CREATE')
            UNION ALL
            SELECT r.name || ' ' || c.oid::regclass FROM \(Self.roles) AS r (name), pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN \(Self.schemas) AND c.relkind IN ('r', 'p', 'v')
              AND (has_table_privilege(r.name, c.oid, 'TRUNCATE')
                OR has_table_privilege(r.name, c.oid, 'TRIGGER')
                OR has_table_privilege(r.name, c.oid, 'REFERENCES')
                OR has_any_column_privilege(r.name, c.oid, 'SELECT WITH GRANT OPTION'))
            UNION ALL
            SELECT rolname::text FROM pg_roles JOIN \(Self.roles) AS r (name) ON rolname = name
            WHERE rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls
            """)
        #expect(able == [])
    }

    @Test func `what runs with its owner's rights looks for names in no schema of others`()
        async throws
    {
        let open = try await RoleGround.shared.list(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname IN \(Self.schemas) AND p.prosecdef
              AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig) IS NOT TRUE
            """)
        #expect(open == [])
    }

    @Test func `a later migration's tables are the worker's, its functions nobody's`()
        async throws
    {
        let ground = try await RoleGround.shared
        let session = ground.session("errand_owner")
        try await session.script(
            """
            CREATE TABLE ledger.later (x int);
            CREATE FUNCTION ledger.later() RETURNS int LANGUAGE sql AS 'SELECT 1'
            """)
        let found = try await ground.list(
            """
            SELECT r.name || ' ' || has_table_privilege(r.name, 'ledger.later', 'SELECT') || ' '
                || has_function_privilege(r.name, 'ledger.later()', 'EXECUTE')
            FROM \(Self.roles) AS r (name) ORDER BY 1
            """)
        try await session.script("DROP TABLE ledger.later; DROP FUNCTION ledger.later()")
        await session.close()
        #expect(
            found == [
                "errand_app false false", "errand_autoscaler false false",
                "errand_inspector false false", "errand_scheduler false false",
                "errand_till false false", "errand_worker true false",
            ])
    }

    // MARK: The matrix, deploy/postgres/rights.tsv

    private func attack(_ ground: RoleGround) async throws -> (code: Int32?, text: String) {
        let program = try Program(
            "/usr/bin/env",
            [
                "python3", RoleGround.checkout.appending(path: "scripts/attack").path, "--url",
                ground.url("errand"),
            ])
        guard case .exited(let code) = try await program.end(within: .seconds(120)) else {
            return (nil, program.errors)
        }
        return (code, program.output + program.errors)
    }

    @Test(.timeLimit(.minutes(3)))
    func `every login may do what the matrix says, and nothing else`() async throws {
        let run = try await attack(try await RoleGround.shared)
        #expect(run.code == 0, "\(run.text)")
    }

    @Test(.timeLimit(.minutes(3)))
    func `an object without a line is found, and so is a right too many`() async throws {
        let ground = try await RoleGround.shared
        let owner = ground.session("errand_owner")
        try await owner.script(
            """
            CREATE TABLE ledger.attacked_1 (x int);
            CREATE SEQUENCE ledger.attacked_2;
            CREATE FUNCTION ledger.attacked() RETURNS int LANGUAGE sql AS 'SELECT 1';
            GRANT SELECT (email) ON people.people TO errand_till;
            GRANT USAGE ON SCHEMA people TO errand_till;
            """)
        let run = try await attack(ground)
        try await owner.script(
            """
            DROP TABLE ledger.attacked_1;
            DROP SEQUENCE ledger.attacked_2;
            DROP FUNCTION ledger.attacked();
            REVOKE SELECT (email) ON people.people FROM errand_till;
            REVOKE USAGE ON SCHEMA people FROM errand_till;
            """)
        await owner.close()
        #expect(run.code == 1)
        for fault in [
            "table ledger.attacked_1: no line", "sequence ledger.attacked_2: no line",
            "function ledger.attacked(): no line",
            "table people.people: till may 's s(email)'", "schema people: till may 'U'",
        ] {
            #expect(run.text.contains(fault), "\(run.text)")
        }
    }

    /// Statements that do and undo something, and what the attack says.
    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            (
                """
                CREATE MATERIALIZED VIEW ledger.attacked AS SELECT 1 AS x;
                CREATE PROCEDURE ledger.attack() LANGUAGE sql AS 'SELECT 1'
                """, "DROP MATERIALIZED VIEW ledger.attacked; DROP PROCEDURE ledger.attack()",
                "no attempt is known for ledger.attacked, ledger.attack()"
            ),
            (
                "GRANT UPDATE ON SEQUENCE coupons.guess_counter_7 TO errand_till",
                "REVOKE UPDATE ON SEQUENCE coupons.guess_counter_7 FROM errand_till",
                "others of sequence coupons.guess_counter_N have different rights"
            ),
        ])
    func `what the attack cannot try, or tries once for many, is found`(
        doing: String, undoing: String, finding: String
    ) async throws {
        let ground = try await RoleGround.shared
        let owner = ground.session("errand_owner")
        try await owner.script(doing)
        let run = try await attack(ground)
        try await owner.script(undoing)
        await owner.close()
        #expect(run.code == 1)
        #expect(run.text.contains(finding), "\(run.text)")
    }
}
