import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Functions in SQL", .database) struct InliningTests {
    /// One that is not inlined is planned anew with each call, which takes longer than what it
    /// does: mostly because it is declared IMMUTABLE and calls something that is only STABLE.
    @Test func `what is one expression is inlined where it is called`() async throws {
        let session = try TestDatabase.here().session()
        let functions = try await session.query(
            """
            SELECT p.oid::regproc::text AS name,
                coalesce((SELECT string_agg('a.x' || i, ', ' ORDER BY i)
                    FROM unnest(p.proargtypes) WITH ORDINALITY AS t (type, i)), '') AS arguments,
                coalesce((SELECT string_agg('NULL::' || format_type(type, NULL) || ' AS x' || i,
                        ', ' ORDER BY i)
                    FROM unnest(p.proargtypes) WITH ORDINALITY AS t (type, i)), '1') AS columns
            FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
            JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE l.lanname = 'sql' AND NOT p.proretset AND n.nspname IN ('errand',
                    'notification', 'coupons', 'ledger', 'payouts', 'votes', 'missions')
              AND (p.prosqlbody IS NOT NULL OR p.proname = 'with_error')
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
            ORDER BY 1
            """)
        #expect(functions.count > 30)
        for function in functions {
            let name = try function.text("name")
            let plan = try await session.query(
                """
                EXPLAIN VERBOSE SELECT \(name)(\(function.text("arguments")))
                FROM (SELECT \(function.text("columns")) OFFSET 0) AS a
                """, prepare: false
            ).map { try $0.text(0) }
            #expect(!plan.contains { $0.contains("\(name)(") }, "\(name)")
        }
    }
}
