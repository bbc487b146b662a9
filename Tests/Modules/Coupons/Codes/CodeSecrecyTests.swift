import ErrandPostgres
import ErrandTestServices
import Testing

/// The keys that hide the ids of coupons, as a migration has drawn them: no login reads them.
@Suite("Keys of the ids of coupons", .database) struct CodeSecrecyTests {
    private static let groups = [
        "errand_worker", "errand_scheduler", "errand_app", "errand_till", "errand_inspector",
        "errand_autoscaler",
    ]

    /// Every text that the catalog shows to each login, of all schemas but PostgreSQL's own.
    private static let texts = """
        SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS text
        FROM pg_proc p WHERE p.pronamespace = ANY (own.schemas) AND p.prokind IN ('f', 'p')
        UNION ALL
        SELECT c.oid::regclass::text, pg_get_viewdef(c.oid)
        FROM pg_class c WHERE c.relnamespace = ANY (own.schemas) AND c.relkind IN ('v', 'm')
        UNION ALL
        SELECT d.adrelid::regclass::text, pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
        WHERE c.relnamespace = ANY (own.schemas)
        UNION ALL
        SELECT n.conname::text, pg_get_constraintdef(n.oid)
        FROM pg_constraint n WHERE n.connamespace = ANY (own.schemas)
        UNION ALL
        SELECT c.oid::regclass::text, pg_get_indexdef(c.oid)
        FROM pg_class c WHERE c.relnamespace = ANY (own.schemas) AND c.relkind = 'i'
        UNION ALL
        SELECT t.tgname::text, pg_get_triggerdef(t.oid)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relnamespace = ANY (own.schemas)
        UNION ALL
        SELECT 'a comment', d.description FROM pg_description d
        UNION ALL
        SELECT 'statistics', s::text FROM pg_stats s WHERE s.schemaname <> 'pg_catalog'
        """

    /// The generated keys and the seed, as digits that stand in no other number.
    private func drawn(_ town: Town) async throws -> [String] {
        let all = try await town.session.query(
            "SELECT unnest(keys || seed)::text FROM coupons.scramble"
        ).map { try $0.text(0).filter(\.isNumber) }
        #expect(all.count == 5 && Set(all).count == 5)
        let long = all.filter { $0.count >= 9 }
        // Each of 40 bits is shorter once in a thousand databases.
        #expect(long.count >= 3)
        return long
    }

    @Test(arguments: groups)
    func `no text that a login can read shows a key`(_ group: String) async throws {
        let town = try Town()
        try await town.session.script("ANALYZE coupons.scramble")
        let secrets = try await drawn(town)
        let (session, _) = try await TestDatabase.here().login(as: group)
        let rows = try await session.query(
            """
            SELECT t.name, t.text FROM (SELECT array_agg(n.oid) AS schemas FROM pg_namespace n
                WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')) AS own
            CROSS JOIN LATERAL (\(Self.texts)) AS t (name, text) WHERE t.text IS NOT NULL
            """)
        let texts = try rows.map { (name: try $0.text(0), text: try $0.text(1)) }
        for name in ["coupons.handle_of(bigint,bigint[])", "errand.enqueue", "votes.open_key("] {
            #expect(texts.contains { $0.name.hasPrefix(name) }, "\(name)")
        }
        for (name, text) in texts {
            for secret in secrets where text.contains(secret) {
                Issue.record("\(name) shows \(secret)")
            }
        }
        await session.close()
    }

    /// 2^35 - 1 and 2^31 - 1, the seconds from 1970 to 2000, and the digits of base 32.
    private static let published: Set<String> = [
        "34359738367", "2147483647", "946684800", "0123456789",
    ]

    @Test func `no function of coupons has a number that might be a key`() async throws {
        let town = try Town()
        let texts = try await town.session.query(
            """
            SELECT p.proname || ': ' || pg_get_functiondef(p.oid) FROM pg_proc p
            WHERE p.pronamespace = 'coupons'::regnamespace
            """
        ).map { try $0.text(0) }
        #expect(texts.count > 20)
        var numbers: Set<String> = []
        for text in texts {
            for match in text.matches(of: /[0-9]{9,}/) { numbers.insert(String(match.output)) }
            // A key could be in hexadecimal as well.
            for match in text.matches(of: /(?i)x[0-9a-f]{8,}/) {
                Issue.record("\(text.prefix(40)): \(match.output)")
            }
        }
        #expect(numbers.subtracting(Self.published) == [])
    }

    @Test(arguments: groups)
    func `no login reads the keys, computes with them, or counts`(_ group: String) async throws {
        let (session, _) = try await TestDatabase.here().login(as: group)
        for statement in [
            "SELECT keys FROM coupons.scramble", "SELECT seed FROM coupons.scramble",
            "SELECT s::text FROM coupons.scramble s", "TABLE coupons.scramble",
            "COPY coupons.scramble TO STDOUT", "SELECT coupons.handle_of(2)",
            "SELECT coupons.coupon_of(2)", "SELECT nextval('coupons.guess_counter_0')",
            "SELECT setval('coupons.guess_counter_0', 1)",
            "SELECT last_value FROM coupons.guess_counter_0",
            "SELECT pg_sequence_last_value('coupons.guess_counter_0')",
            "SELECT coupons.guesses_in(0, 1)", "UPDATE coupons.scramble SET seed = 1",
            "DELETE FROM coupons.scramble",
            "DO $$ BEGIN LOCK TABLE coupons.scramble; END $$",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(group): \(statement)") {
                _ = try await session.query(statement)
            }
            #expect(error?.sqlState == "42501", "\(group): \(statement)")
        }
        await session.close()
    }
}
