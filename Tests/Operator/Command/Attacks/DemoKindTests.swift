import ErrandPostgres
import ErrandTestServices
import Glibc
import Testing

/// Sleepers and failures on demand belong to trials: production's workers do not have them.
@Suite("Attacks: demo kinds", .serialized, .database) struct DemoKindTests {
    private func expectNone(after value: String) async throws {
        #expect(
            try await number("SELECT count(*) FROM errand.kinds WHERE kind LIKE 'demo.%'") == 0,
            "ERRAND_DEMO=\(value)")
        // Other kinds were declared.
        #expect(try await number("SELECT count(*) FROM errand.kinds") > 25)
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.workers WHERE EXISTS (
                    SELECT FROM unnest(kinds) AS k WHERE k LIKE 'demo.%')
                """) == 0)
    }

    @Test(arguments: ["", "0", "true", "yes", "11"])
    func `a worker has them only if ERRAND_DEMO is 1`(_ value: String) async throws {
        try await change(
            """
            SELECT errand.enqueue('demo.sleep', '{"ms": 0}'), errand.enqueue('demo.noop'),
                errand.enqueue('demo.exit'), errand.enqueue('demo.fail', '{"times": 9}')
            """)
        try await errand(
            "work", "--drain", environment: ["ERRAND_DEMO": value, "ERRAND_DEMO_EXIT": "1"]
        ).expect(0)
        try await expectNone(after: value)
        #expect(
            try await number(
                """
                SELECT count(*) FROM errand.jobs
                WHERE attempt = 0 AND claimed_by IS NULL AND run_at <= now()
                """) == 4)
        #expect(try await number("SELECT count(*) FROM errand.finished_jobs") == 0)
        // What nobody has declared, no app may enqueue.
        let (app, _) = try await TestDatabase.here().login(as: "errand_app")
        for kind in ["demo.sleep", "demo.noop", "demo.fail", "demo.exit", "demo.ledger"] {
            let error = await #expect(throws: PostgresError.self, "\(kind)") {
                _ = try await app.query("SELECT errand.enqueue('\(kind)')")
            }
            #expect(error?.sqlState == "42501", "\(kind)")
        }
        await app.close()
    }

    @Test func `a worker that stays has none either, and with ERRAND_DEMO=1 they run`()
        async throws
    {
        let worker = try start(["work"], environment: ["ERRAND_DEMO": ""])
        try await eventually("the worker to sign on") {
            try await number("SELECT count(*) FROM errand.workers") == 1
        }
        try await expectNone(after: "")
        worker.signal(SIGTERM)
        try await finish(worker).expect(0)
        try await change("SELECT errand.enqueue('demo.sleep', '{\"ms\": 0}')")
        try await errand("work", "--drain", environment: ["ERRAND_DEMO": "1"]).expect(0)
        #expect(
            try await number(
                "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'completed'") == 1)
    }
}
