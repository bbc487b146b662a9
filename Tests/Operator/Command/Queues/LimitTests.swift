import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Watching, time limits, read-only") struct LimitTests {
        @Test(arguments: ["\u{3}", nil])
        func `a watched command is drawn in place until a key or a signal`(
            key: String?
        ) async throws {
            try await made("enqueue", "demo.noop")
            let run = try await onTerminal(
                "queue", "ls", "--watch", "0.5",
                steps: [
                    .wait("errand queue ls"), .wait("default"), .wait("errand queue ls"),
                    .wait("default"), key.map { .send($0) } ?? .signal("TERM"),
                ])
            #expect(run.code == 0)
            // Wiped once, then each frame begins at the top; the cursor comes back.
            #expect(run.output.components(separatedBy: "\u{1B}[2J").count == 2)
            #expect(run.output.components(separatedBy: "\u{1B}[H").count >= 4)
            #expect(run.output.contains("\u{1B}[?25h"))
            #expect(run.text.contains("every 500 ms"))
        }

        @Test func `no frame is higher than the terminal, whatever its size`() async throws {
            for queue in 0..<40 {
                try await made("enqueue", "demo.noop", "--queue", "queue-\(queue)")
            }
            let run = try await onTerminal(
                "queue", "ls", "--watch", "0.5",
                steps: [
                    .wait(" more lines"), .resize(rows: 50, columns: 200), .wait("queue-9"),
                    .send("\u{3}"),
                ])
            #expect(run.code == 0)
        }

        @Test(arguments: ["table", "json", "csv"])
        func `off a terminal results follow each other`(form: String) async throws {
            try await made("enqueue", "demo.noop")
            let program = try start(
                ["queue", "ls", "--watch", "0.5", "--columns", "queue", "-o", form])
            let least = ["table": 5, "json": 2, "csv": 3][form] ?? 0
            try await eventually("two results") {
                program.output.utf8.count { $0 == 10 } >= least
            }
            program.signal(form == "json" ? SIGTERM : SIGINT)
            let run = try await finish(program)
            run.expect(0)
            let start =
                switch form {
                case "json": "{\"queue\":\"default\"}\n{\"queue\":\"default\"}\n"
                case "csv": "queue\r\ndefault\r\ndefault\r\n"
                default: "QUEUE\ndefault\n\nQUEUE\ndefault\n"
                }
            #expect(run.output.hasPrefix(start))
        }

        @Test func `only what looks is watched`() async throws {
            for arguments in [
                ["queue", "pause", "x"], ["job", "tail"], ["work"], ["context", "use", "x"],
            ] {
                try await errand(arguments + ["--watch", "2"]).expect(
                    2, "repeats read-only commands")
            }
            try await errand("status", "--watch", "0.2").expect(2, "a number from 0.5")
        }

        @Test func `a wrong name ends a watched command`() async throws {
            try await errand("queue", "show", "x", "--watch", "1").expect(3, "no queue x")
        }

        @Test func `a command that takes too long ends, on the server too`() async throws {
            let session = try TestDatabase.here().session()
            try await session.script("BEGIN; LOCK TABLE errand.queues, errand.jobs")
            let late = try await errand("queue", "ls", "--command-timeout", "400ms")
            late.expect(8, "timed out after 400ms", "--command-timeout", "errand doctor")
            let json = try await errand(
                "queue", "pause", "x", "--command-timeout", "400ms", "-ojson")
            json.expect(8)
            #expect(try json.failure["code"] == "timed_out")
            for more in [[], ["--count", "5000"]] {
                try await errand(
                    ["enqueue", "demo.noop", "--command-timeout", "400ms"] + more
                ).expect(8, "timed out after 400ms")
            }
            try await eventually("the end of its statements") {
                try await number(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE application_name = 'errand-cli' AND datname = current_database()
                    """) == 0
            }
            try await session.script("ROLLBACK")
            await session.close()
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 0)
            try await errand("queue", "ls", "--command-timeout", "1m").expect(0)
            try await errand("queue", "ls", "--command-timeout", "250d").expect(0)
        }

        @Test func `a time limit ends what waits and what is watched`() async throws {
            let job = try await made("enqueue", "demo.noop", "--in", "1h")
            try await errand("job", "wait", job["id"].id, "--command-timeout", "300ms").expect(8)
            try await errand("status", "--watch", "1", "--command-timeout", "300ms").expect(8)
            try await errand("work", "--command-timeout", "1s")
                .expect(2, "runs until it is stopped")
        }

        @Test func `a terminal comes back when a server hangs, and says why`() async throws {
            let script = """
                import signal, socket
                s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
                signal.pause()
                """
            let server = try start([], through: ["/usr/bin/env", "python3", "-c", script])
            try await eventually("it to listen") { server.output.hasSuffix("\n") }
            let port = server.output.prefix { $0 != "\n" }
            let run = try await onTerminal(
                "queue", "ls", "--watch", "1", "--command-timeout", "1s", "--database-url",
                "postgresql://u@127.0.0.1:\(port)/d", steps: [])
            #expect(run.code == 8)
            let restored = try #require(run.output.range(of: "\u{1B}[?7h\u{1B}[?25h"))
            let complaint = try #require(run.output.range(of: "(--command-timeout)"))
            #expect(restored.upperBound < complaint.lowerBound)
            server.signal(SIGKILL)
            _ = try await server.end(within: .seconds(20))
        }

        /// Every command that changes something, with arguments that parse.
        static let changing = [
            "work", "work --drain", "enqueue demo.noop", "enqueue --bulk -", "migrate",
            "job retry 1", "job cancel 1", "job run-now 1", "job reschedule 1 --in 1h",
            "job move 1 --to x", "job edit 1 --tag x", "job discard 1 --yes",
            "dead redrive --all --yes", "dead discard --all --yes", "op cancel 1", "op resume 1",
            "queue pause x", "queue resume x", "queue purge x --yes",
            "schedule add x @daily "
                + "--kind demo.noop", "schedule edit x --cron @daily", "schedule rm x --yes",
            "schedule pause x", "schedule resume x", "schedule trigger x",
            "schedule backfill x --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z --yes",
            "schedule tick", "schedule run",
        ]

        @Test func `what changes something is refused read-only, before anything`() async throws {
            let nowhere = ["DATABASE_URL": "postgresql://127.0.0.1:1/none"]
            for line in Self.changing {
                let words = line.split(separator: " ").map(String.init)
                try await errand(words + ["--read-only"], environment: nowhere)
                    .expect(5, "read-only mode: ", " makes changes")
            }
            try await errand(
                "queue", "pause", "x",
                environment: nowhere.merging(["ERRAND_READ_ONLY": "1"]) { $1 }
            ).expect(5, "read-only")
        }

        @Test func `read-only sessions cannot write, and looking goes on`() async throws {
            try await made("enqueue", "demo.noop")
            let readOnly = ["ERRAND_READ_ONLY": "1"]
            for arguments in [
                ["queue", "ls"], ["job", "ls"], ["status"], ["audit", "ls"], ["worker", "ls"],
                ["dead", "group"], ["schedule", "ls"], ["migrate", "status"], ["job", "why", "1"],
                ["dead", "redrive", "--all", "--dry-run"], ["schedule", "tick", "--dry-run"],
            ] {
                try await errand(arguments, environment: readOnly).expect(0)
            }
            let doctor = try await errand("doctor", environment: readOnly)
            #expect([0, 10].contains(doctor.code), "\(doctor.output)\(doctor.errors)")
        }
    }
}
