import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Metrics beside a held snapshot") struct HeldMetricsTests {
        @Test func `no series is missing while a dump keeps the rows of finished jobs`()
            async throws
        {
            try await change("INSERT INTO errand.queues (name) VALUES ('other')")
            func series(dead: Bool) async throws -> Set<String> {
                let worker = try await Listening(["work", "--queues", "default", "--no-schedules"])
                try await worker.ready()
                try await eventually("the starts to be moved") {
                    try await number(
                        """
                        SELECT count(*) FROM errand.lane_starts s
                        WHERE s.queue = 'default' AND NOT EXISTS (SELECT FROM errand.jobs j
                            WHERE j.queue = s.queue AND j.run_at < s.run_at)
                        """) > 0 || !dead
                }
                let scrape = try await worker.scrape()
                #expect(scrape["errand_queue_jobs", ["queue": "other", "state": "available"]] == 7)
                #expect(
                    try #require(
                        scrape["errand_queue_oldest_wait_seconds", ["queue": "other"]]) > 0)
                try await worker.end()
                return Set(
                    scrape.samples.filter { $0.name.hasPrefix("errand_") }.map {
                        "\($0.name) \($0.labels.sorted { $0.key < $1.key })"
                    })
            }
            try await made("enqueue", "demo.noop", "--queue", "other", "--count", "7")
            try await made("enqueue", "demo.noop")
            let before = try await series(dead: false)
            let holder = try TestDatabase.here().session("pg_dump")
            _ = try await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            _ = try await holder.query("SELECT count(*) FROM errand.jobs")
            try await change(
                """
                WITH made AS (
                    INSERT INTO errand.jobs (queue, kind, run_at)
                    SELECT 'default', 'demo.noop', clock_timestamp() + interval '1 h'
                    FROM generate_series(1, 100000) RETURNING id)
                SELECT count(*) FROM made
                """)
            try await change(
                "UPDATE errand.jobs SET run_at = clock_timestamp() WHERE queue = 'default'")
            try await change("DELETE FROM errand.jobs WHERE queue = 'default'")
            try await made("enqueue", "demo.noop")
            #expect(try await series(dead: true) == before)
            await holder.close()
        }
    }
}
