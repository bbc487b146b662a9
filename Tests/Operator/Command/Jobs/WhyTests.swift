import Glibc
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Testing

extension JobCommands {
    @Suite("errand job why") struct WhyTests {
        private func why(_ id: JSON) async throws -> JSON { try await made("job", "why", id.id) }

        /// Runs the command that mends it, as it was printed.
        private func mend(_ answer: JSON) async throws {
            let command = try #require(answer["remedy"].text).split(separator: "#")[0]
            let words = command.split(separator: " ").map(String.init)
            #expect(words.first == "errand")
            try await errand(Array(words.dropFirst())).expect(0)
        }

        private func started(_ arguments: [String]) async throws -> Program {
            let before = try await number("SELECT count(*) FROM errand.workers")
            let worker = try start(["work"] + arguments)
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == before + 1
            }
            return worker
        }

        @Test func `a paused queue, by whom, when, why and until when`() async throws {
            let worker = try await started([])
            try await made(
                "queue", "pause", "default", "--reason", "rent day", "--for", "30m")
            let job = try await made("enqueue", "demo.noop")
            let answer = try await why(job["id"])
            #expect(answer["cause"] == "queue_paused")
            #expect(answer["state"] == "available")
            let sentence = try #require(answer["explanation"].text)
            for piece in ["queue default was paused by tester", "until 2", ": rent day"] {
                #expect(sentence.contains(piece), "\(sentence)")
            }
            #expect(answer["remedy"] == "errand queue resume default")
            let run = try await errand("job", "why", job["id"].id)
            run.expect(0)
            #expect(run.lines[0].hasPrefix("job \(job["id"].id): its queue default was paused"))
            #expect(run.lines[1] == "  errand queue resume default")
            try await mend(answer)
            try await eventually("it to be done") {
                try await why(job["id"])["cause"] == "completed"
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `nobody who works the queue, the kind or the version`() async throws {
            let job = try await made("enqueue", "demo.noop", "--queue", "mail")
            #expect(try await why(job["id"])["cause"] == "no_worker")
            let worker = try await started([])
            let answer = try await why(job["id"])
            #expect(answer["cause"] == "queue_unworked")
            #expect(answer["explanation"].text?.contains("mail; they serve default") == true)
            #expect(answer["remedy"] == "errand work --queues mail")
            let strange = try await made("enqueue", "strange.kind", "--allow-unknown-kind")
            let unknown = try await why(strange["id"])
            #expect(unknown["cause"] == "kind_unknown")
            #expect(unknown["explanation"].text?.contains("they know accounts") == true)
            try await change(
                """
                UPDATE errand.jobs SET queue = 'default', args_version = 9
                WHERE kind = 'demo.noop'
                """
            )
            let version = try await why(job["id"])
            #expect(version["cause"] == "version_unknown")
            #expect(version["explanation"].text?.contains("they know 1") == true)
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `not due, retrying, too late, dead`() async throws {
            let later = try await made("enqueue", "demo.noop", "--in", "12s")
            let scheduled = try await why(later["id"])
            #expect(scheduled["cause"] == "scheduled")
            #expect(scheduled["explanation"].text?.contains("due in 1") == true)
            #expect(scheduled["other_causes"] == ["no worker is alive"])
            try await mend(scheduled)
            #expect(try await why(later["id"])["cause"] == "no_worker")
            // Its retry must not come within the same run of the worker, however slow that is.
            try await change(
                """
                CREATE FUNCTION errand.much_later() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN NEW.run_at := now() + interval '1 hour'; RETURN NEW; END $$;
                CREATE TRIGGER much_later BEFORE UPDATE ON errand.jobs FOR EACH ROW
                    WHEN (NEW.run_at > OLD.run_at) EXECUTE FUNCTION errand.much_later()
                """)
            let failing = try await made("enqueue", "demo.fail", #"{"times": 1}"#)
            #expect(try await made("work", "--drain")["retried"] == 1)
            try await change("DROP FUNCTION errand.much_later() CASCADE")
            let retrying = try await why(failing["id"])
            #expect(retrying["cause"] == "retrying")
            for piece in ["attempt 1 of 5 failed", "failed on purpose", "next is due in"] {
                #expect(retrying["explanation"].text?.contains(piece) == true, "\(retrying)")
            }
            #expect(retrying["remedy"].text == "errand job run-now \(failing["id"].id)")
            try await change(
                "UPDATE errand.jobs SET not_after = now() - interval '1 s', run_at = now()")
            #expect(try await why(failing["id"])["cause"] == "deadline_passed")
            try await change(
                "UPDATE errand.jobs SET not_after = NULL, max_attempts = 1, attempt = 0, args = "
                    + #"'{"times": 9}'"#)
            #expect(try await made("work", "--drain")["dead"] == 1)
            let dead = try await why(failing["id"])
            #expect(dead["cause"] == "dead")
            #expect(dead["explanation"].text?.contains("after attempt 1 of 1") == true)
            try await mend(dead)
            #expect(try await why(failing["id"])["cause"] == "no_worker")
        }

        @Test func `a worker that runs it, and one that fell silent`() async throws {
            let job = try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let next = try await made("enqueue", "demo.noop")
            let worker = try await started(["--concurrency", "1", "--lease", "4s"])
            try await eventually("the job to run") {
                try await why(job["id"])["cause"] == "running"
            }
            let running = try #require(try await why(job["id"])["explanation"].text)
            #expect(running.contains("attempt 1 of 20 on worker "))
            #expect(running.contains("pid \(worker.id)) for "))
            try await eventually("its slot to be reported") {
                try await why(next["id"])["cause"] == "slots_busy"
            }
            worker.signal(SIGKILL)
            try await eventually("its silence to be noticed") {
                try await why(job["id"])["cause"] == "worker_unresponsive"
            }
            let silent = try #require(try await why(job["id"])["explanation"].text)
            #expect(silent.contains("has not responded for "))
            try await change("DELETE FROM errand.workers")
            #expect(try await why(job["id"])["cause"] == "worker_gone")
        }

        @Test func `the line before it, and a Redis that is gone or empty`() async throws {
            // A worker that exists only in its row: nothing moves.
            try await change(
                """
                INSERT INTO errand.workers (host, pid, version, lease_seconds, queues, load,
                    kinds)
                VALUES ('elsewhere', 1, '0', 600, '{"def*": {"concurrency": 4}}',
                    '{"default": {"busy": 0, "rate": 2}}',
                    '{demo.noop@1,demo.sleep@1}')
                """)
            let low = try await made("enqueue", "demo.sleep", #"{"ms": 1}"#, "--priority", "low")
            try await made("enqueue", "demo.noop", "--count", "10")
            try await made("enqueue", "demo.noop", "--in", "1h")
            try await made("enqueue", "demo.fail", #"{"times": 1}"#)
            let url = "redis://127.0.0.1:1/0"
            let away = try await errand(
                "job", "why", low["id"].id, "-ojson", environment: ["REDIS_URL": url])
            away.expect(0)
            #expect(try away.record["cause"] == "redis_unreachable")
            #expect(try away.record["remedy"] == "errand doctor")
            let empty = try await why(low["id"])
            // Staged by the enqueue itself; the ten are before it, and a kind that nobody knows
            // is in nobody's way.
            #expect(empty["cause"] == "behind")
            let sentence = try #require(empty["explanation"].text)
            #expect(sentence.hasPrefix("10 jobs of queue default with the same"))
            #expect(sentence.contains("≈ 5.0 s"))
            let redis = Connection(try TestDatabase.here().redis, name: "why-test")
            let session = try TestDatabase.here().session()
            let instance = try await session.query("SELECT id::text FROM errand.instance")
            let key = "errand:{\(try instance.text(0, 0).prefix(8))}:w:default:demo.sleep:1"
            await session.close()
            #expect(try await redis.send(Command("DEL", key)).int == 1)
            #expect(try await why(low["id"])["cause"] == "redis_emptied")
        }

        @Test func `a job that is not there`() async throws {
            try await errand("job", "why", "99999")
                .expect(3, "there is no job 99999", "'errand job ls'")
            try await errand("job", "why", "x").expect(2, "ID 'x': expected")
            try await errand("job", "why").expect(2, "needs ID", "usage: errand job why")
        }
    }
}
