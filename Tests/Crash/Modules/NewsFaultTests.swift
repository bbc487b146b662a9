import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCrashTests {
    /// Terms that are sent to many people while workers and the server are killed.
    @Suite("News") struct NewsFaultTests {
        private static let people = 400
        private static let blocked = 8
        private static let chunk = 20
        private static let kills = 4

        /// Each chunk takes a fifth of a second at its end, so that most kills meet one that has
        /// not committed.
        private static let slowChunks = """
            CREATE FUNCTION news.wait_a_bit() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_sleep(0.2);
                RETURN NEW;
            END $$;
            CREATE TRIGGER waits BEFORE UPDATE OF chunk_at ON news.sendings
                FOR EACH ROW EXECUTE FUNCTION news.wait_a_bit();
            GRANT EXECUTE ON FUNCTION news.wait_a_bit() TO PUBLIC;
            UPDATE news.rules SET chunk_size = \(chunk)
            """

        @Test(.timeLimit(.minutes(5)))
        func `each person gets the terms once, whatever is killed, paused and resumed`()
            async throws
        {
            let ground = try CrashGround.here()
            try await ground.session.script(
                """
                INSERT INTO people.people (id, created_at, quiet_from, quiet_until, blocked_at)
                SELECT n * 3, now() - interval '1 day', NULL, NULL,
                    CASE WHEN n % \(Self.people / Self.blocked) = 0 THEN now() END
                FROM generate_series(1, \(Self.people)) n;
                ANALYZE people.people
                """)
            try await ground.session.script(Self.slowChunks)
            try await ground.done(
                "news", "send", "--kind", "company.terms", "--version", "2026-12", "--to", "all",
                "--headline", "New terms", "--summary", "From January.", "--body", "All of them.",
                "--yes")
            // Short, so that the job of a killed worker comes back soon.
            let words = ["work", "--lease", "2s", "--grace", "5s", "--queues", "news:2"]
            var worker = try ground.start(words)
            for kill in 1...Self.kills {
                let goal = kill * Self.people / (Self.kills + 2)
                try await wait("(notified + skipped)::bigint >= \(goal)", worker, ground)
                worker.signal(SIGKILL)
                _ = try await worker.end(within: .seconds(30))
                if kill == 3 {
                    try await CrashServers.here().run("crash-postgres")
                    try await CrashServers.here().run("start-postgres")
                }
                if kill == 4 {
                    try await ground.done("news", "pause", "1")
                    try await ground.done("news", "resume", "1")
                }
                worker = try ground.start(words)
            }
            try await wait("state = 'done'", worker, ground)
            try await ground.expectCleanStop(worker)
            for (sql, count) in [
                ("SELECT count(*) FROM notification.notices", Self.people - Self.blocked),
                (
                    "SELECT count(DISTINCT person_id) FROM notification.notices",
                    Self.people - Self.blocked
                ),
                ("SELECT count(*) FROM notification.inbox_items", Self.people - Self.blocked),
                ("SELECT notified FROM news.sendings", Self.people - Self.blocked),
                ("SELECT skipped FROM news.sendings", Self.blocked),
                ("SELECT count(*) FROM errand.jobs WHERE kind = 'news.send'", 0),
            ] { #expect(try await ground.number(sql) == count, "\(sql)") }
        }

        private static let hurry = """
            UPDATE errand.jobs SET run_at = clock_timestamp()
            WHERE claimed_by IS NULL AND run_at > clock_timestamp() + interval '1 s'
            """
        private static let picture = """
            SELECT (SELECT row_to_json(s)::text FROM news.sendings s) || coalesce((
                SELECT string_agg(row_to_json(j)::text, ' ') FROM errand.jobs j
                WHERE j.kind = 'news.send'), ' no job')
            """

        private static let lost = """
            SELECT count(*) FROM news.sendings s
            WHERE s.state = 'running' AND news.job_of(s.id) IS NULL
            """

        /// Waits until the sending is so; nobody waits for the pause after a lost attempt.
        ///
        /// A job three of whose workers died within a second of its start is a dead letter: then
        /// the sending is resumed, as the doctor advises.
        private func wait(
            _ condition: String, _ worker: Program, _ ground: CrashGround
        ) async throws {
            let end = ContinuousClock.now + .seconds(60)
            while true {
                _ = try? await ground.session.query(Self.hurry)
                let found = try? await ground.number(
                    "SELECT count(*) FROM news.sendings WHERE \(condition)")
                if found == 1 { return }
                if (try? await ground.number(Self.lost)) == 1 {
                    try await ground.done("news", "resume", "1")
                }
                guard ContinuousClock.now < end else {
                    let picture = try await ground.session.query(Self.picture).text(0, 0)
                    throw Program.Trouble(
                        "not within 60 s: \(condition)\n\(picture)\n"
                            + worker.errors.suffix(4_000))
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
