import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// The limit of arguments, whatever form PostgreSQL has them in.
@Suite("Large arguments", .database) struct LargeArgumentTests {
    /// An app's session with a kind that it may enqueue, and a table of arguments of these lengths,
    /// which PostgreSQL compresses.
    private func app(_ ground: RulesGround, lengths: [Int]) async throws -> Session {
        let (session, name) = try await ground.database.login(as: "errand_app")
        _ = try await ground.session.query(
            """
            INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts, for_apps)
            VALUES ($1, 1, 'default', 2, 20, true)
            """, [.text(Plain.kind)])
        try await ground.session.script(
            """
            CREATE TABLE public.args (length int, value jsonb, list jsonb[]);
            GRANT SELECT ON public.args TO \(name)
            """)
        _ = try await ground.session.query(
            """
            INSERT INTO public.args
            SELECT n, v.value, ARRAY[v.value] FROM unnest($1::int[]) AS n
            CROSS JOIN LATERAL (SELECT jsonb_build_object('a', repeat('x', n)) AS value) v
            """, [.int32Array(lengths.map(Int32.init))])
        return session
    }

    private func state(_ session: Session, _ sql: String) async -> String? {
        do throws(PostgresError) {
            _ = try await session.query(sql)
            return nil
        } catch { return error.sqlState }
    }

    @Test func `a compressed value counts with its whole length, in every plan`() async throws {
        let ground = try await RulesGround()
        // The text of JSON that a client sends may have half as much again in spaces.
        let (small, large) = ([10, 5_000, 1_000_000], [1_600_000, 12_000_000])
        let session = try await app(ground, lengths: small + large)
        let ways = [
            "SELECT errand.enqueue('test.plain', (SELECT value FROM args WHERE length = %))",
            "SELECT errand.enqueue('test.plain', value) FROM args WHERE length = %",
            "SELECT errand.enqueue('test.plain', value, unique_key => 'k') FROM args "
                + "WHERE length = %",
            "SELECT * FROM errand.enqueue_jobs('default', 'test.plain', 1, 2, 20, NULL, NULL, "
                + "NULL, (SELECT list FROM args WHERE length = %))",
            "SELECT * FROM errand.enqueue_jobs('default', 'test.plain', 1, 2, 20, NULL, NULL, "
                + "NULL, (SELECT list FROM args WHERE length = %), unique_key => 'l')",
        ]
        // From the sixth call on, a function has plans that hold for all values.
        for round in 1...8 {
            for way in ways {
                func sql(_ length: Int) -> String { way.replacing("%", with: "\(length)") }
                for length in small {
                    #expect(
                        await state(session, sql(length)) == nil, "round \(round): \(sql(length))")
                }
                for length in large {
                    #expect(
                        await state(session, sql(length)) == "RU001",
                        "round \(round): \(sql(length))")
                }
            }
        }
        await session.close()
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE octet_length(args::text) > 1572864") == 0)
    }

    @Test(arguments: ["\"not a time\"", "5", "{}", "\"2026-02-31\"", "\"\""])
    func `a waiting job whose field holds no time is replaced, and nobody is refused`(
        _ value: String
    ) async throws {
        let ground = try await RulesGround()
        let session = try await app(ground, lengths: [])
        let enqueue = """
            SELECT errand.enqueue('test.plain', $1::text::jsonb, unique_key => 'k',
                on_duplicate => 'replace', newest_by => 'at')
            """
        let first = try await session.query(enqueue, [.text("{\"at\": \(value)}")]).int64(0, 0)
        for at in ["2026-01-02", "2026-01-01", "2026-01-03"] {
            let id = try await session.query(enqueue, [.text("{\"at\": \"\(at)\"}")]).int64(0, 0)
            #expect(id == first)
        }
        await session.close()
        let stored = try await ground.session.query("SELECT args ->> 'at' FROM errand.jobs")
        #expect(try stored.map { try $0.text(0) } == ["2026-01-03"])
    }
}
