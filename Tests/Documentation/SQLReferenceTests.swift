import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The pages of SQL functions") struct SQLReferenceTests {
    // "48 household functions, 10 in README; no `COMMENT ON FUNCTION` anywhere"; "samples as
    // printed fail in sequence". It starts servers of its own, with the logins of
    // `deploy/postgres`.
    @Test(.timeLimit(.minutes(10)))
    func `they are what the comments say, and every sample runs as printed`() async throws {
        let program = try Program(
            "/usr/bin/env",
            [
                "python3", Checkout.root.appending(path: "scripts/reference").path, "--samples",
                "--with", Program.errand,
            ])
        let end = try await program.end(within: .seconds(500))
        #expect(end == .exited(0), "\(program.errors)")
        #expect(program.output.contains(" 0 faults"))
    }
}

@Suite("The reasons of SQL functions", .database) struct SQLReasonTests {
    // "`reason` values are listed for coupons only".
    @Test func `each reason with which a function refuses a call is in its comment`() async throws {
        let session = try TestDatabase.here().session()
        let missing = try await session.query(
            #"""
            WITH functions AS (
                SELECT p.oid, p.prosrc, obj_description(p.oid, 'pg_proc') AS comment
                FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname IN (SELECT m.name FROM errand.modules m)
                    AND (has_function_privilege('errand_app', p.oid, 'EXECUTE')
                        OR has_function_privilege('errand_till', p.oid, 'EXECUTE'))
            ), reasons AS (
                SELECT f.oid, r.words[1] AS word
                FROM functions f CROSS JOIN LATERAL regexp_matches(f.prosrc,
                    'errand\.refuse\(\s*''([a-z_]+)''', 'g') AS r (words)
                UNION
                SELECT f.oid, unnest(c.words)
                FROM functions f JOIN (VALUES
                    ('people.expect_open(', '{under_age,blocked,erased}'::text[]),
                    ('people.expect_of_age(', '{under_age,blocked,no_birth_date}'),
                    ('household.enter(', '{no_group}'), ('household.home_of(', '{no_group}')
                ) AS c (call, words) ON strpos(f.prosrc, c.call) > 0
            )
            SELECT concat(f.oid::regprocedure, ': ', r.word)
            FROM functions f JOIN reasons r USING (oid)
            WHERE (f.comment ~ ('\n  ([a-z_]+, )*' || r.word || '(, [a-z_]+)*: ')) IS NOT TRUE
            ORDER BY 1
            """#
        ).map { try $0.text(0) }
        #expect(missing == [])
        await session.close()
    }
}
