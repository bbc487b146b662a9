import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand top") struct TopTests {
        /// Two queues: one with dead letters and a waiting job, one with a job that is not due.
        private func ground() async throws -> (waiting: JSON, later: JSON) {
            try await bury(3)
            let waiting = try await made("enqueue", "demo.noop")["id"]
            let later = try await made("enqueue", "demo.sleep", "--queue", "mail", "--in", "1h")
            return (waiting, later["id"])
        }

        private func expectGivenBack(
            _ picture: Picture?, at place: SourceLocation = #_sourceLocation
        ) {
            #expect(picture?.code == 0, sourceLocation: place)
            #expect(picture?.alternate == false, sourceLocation: place)
            #expect(picture?.cooked == true, sourceLocation: place)
        }

        @Test(arguments: [(80, 24), (200, 50)])
        func `queues, then jobs, then one job, and back`(columns: Int, rows: Int) async throws {
            let (waiting, later) = try await ground()
            let seen = try await onFullScreen(
                columns, rows, ["top"], .wait("^> default"), .press("j"), .wait("^> mail"),
                .press("\r"), .wait("^> +\(later.id) +demo.sleep"), .press("\r"),
                .wait("is due in"), .press("\u{1B}"), .wait("^> +\(later.id)"), .press("h"),
                .wait("^> mail"), .press("\u{1B}[A"), .wait("^> default"), .press("\u{1B}[C"),
                .wait("^> +\(waiting.id) +demo.noop"), .press("jj"), .wait("^> .*dead"),
                .press("G"), .press("l"), .wait("errand job retry"), .press("qqq"), .end(nil))
            for picture in seen.dropLast() {
                #expect(picture.alternate)
                #expect(picture.cooked == false)
                #expect(picture.colored)
                #expect(picture.lines.count == rows)
                #expect(picture.lines.allSatisfy { $0.count <= columns })
                // The last line tells the keys, whatever else there is.
                #expect(picture.lines.last?.contains("help") == true)
            }
            #expect(seen[0].lines[0].hasPrefix("errand top: queues"))
            #expect(seen[0].lines[1].contains("1 waiting  0 running"))
            #expect(seen[0].reversed.count == 1)
            #expect(seen[2].lines[0].hasPrefix("errand top: queues > jobs --queue mail"))
            #expect(seen[3].text.contains("errand job run-now \(later.id)"))
            #expect(seen[3].text.contains("history"))
            // A wide terminal has room for the queue of each job.
            #expect(seen[2].text.contains("QUEUE") == (columns == 200))
            expectGivenBack(seen.last)
            #expect(
                try await number(
                    "SELECT count(*) FROM errand.audit WHERE action <> 'enqueue'") == 0)
        }

        @Test func `what happens meanwhile is seen, and the terminal may change its size`()
            async throws
        {
            _ = try await ground()
            let seen = try await onFullScreen(
                80, 24, ["top", "--interval", "500ms"], .wait("^> default +1 "),
                .sql("SELECT errand.enqueue('demo.noop') FROM generate_series(1, 41)"),
                .wait("^> default +42 "), .resize(columns: 120, rows: 10),
                .press("\r"), .wait("QUEUE +ABOUT"), .resize(columns: 40, rows: 12),
                .gone("QUEUE"), .press("f"), .wait("frozen"),
                .sql("UPDATE errand.jobs SET attempt = 7"), .press("u"), .wait("7/20"),
                .press("?"), .wait("Lowercase keys only"), .press("x"), .gone("Lowercase"),
                .resize(columns: 30, rows: 3), .wait("^errand …"), .resize(columns: 1, rows: 1),
                .wait("^…$"), .resize(columns: 80, rows: 24), .wait("^errand top: queues"),
                .press("\u{1A}"), .wait("^errand top: queues"), .end(SIGTERM))
            #expect(seen[3].lines.count == 10)
            #expect(seen[3].lines.last?.contains("? help") == true)
            #expect(seen[4].lines.count == 12)
            #expect(seen[4].lines.allSatisfy { $0.count <= 40 })
            expectGivenBack(seen.last)
        }

        @Test func `filters are those of job ls, and bad ones are explained`() async throws {
            _ = try await ground()
            let seen = try await onFullScreen(
                100, 24, ["top"], .wait("^> default"), .press("/"), .wait("^/--queue default"),
                .press("\u{15}--knd x\r"), .wait("did you mean '--kind'"),
                .press("/\u{15}--state dead --error '~ no [1-3]'\r"), .wait("^> .*dead"),
                .press("/ --limit 1\r"), .wait("--limit 1 "), .wait("^> .*dead"),
                .press("/\u{15}--queue mial\r"),
                .wait("there is no queue mial"), .press("/\u{15}--error '~ ('\r"),
                .wait("regular expression"), .press("\u{3}"), .end(nil))
            #expect(seen[3].lines.filter { $0.contains("noop  dead ") }.count == 3)
            #expect(seen[5].lines.filter { $0.contains("noop  dead ") }.count == 1)
            expectGivenBack(seen.last)
            let direct = try await onFullScreen(
                100, 24, ["top", "--state", "dead", "--kind", "demo.noop"],
                .wait("queues > jobs --kind demo.noop --state dead"), .press("q"),
                .wait("^> default"), .press("d"), .wait("--queue default --state dead"),
                .press("\u{3}"), .end(nil))
            expectGivenBack(direct.last)
        }

        @Test func `capital letters change something, after a question`() async throws {
            let (waiting, later) = try await ground()
            let seen = try await onFullScreen(
                80, 24, ["top"], .wait("^> default"), .press("P"), .wait("for pausing default"),
                .press("moving\r"), .wait("pause queue default\\? \\[y/N\\]"), .press("n"),
                .gone("y/N"), .press("Pthe  disk\ry"), .wait("queue default is paused"),
                .wait("^> default .*paused"), .press("Uy"), .wait("queue default is resumed"),
                .press("j\r"), .wait("^> +\(later.id)"), .press("N"), .wait("run job .* now"),
                .press("y"), .wait("job \(later.id): changed"), .press("C"), .wait("cancel job"),
                .press("y"), .wait("job \(later.id): cancelled"), .press("C"),
                .wait("cancel job"), .press("y"), .wait("already finished"), .press("q"),
                .wait("^> mail"), .press("kd"), .wait("^> .*dead"), .press("Ry"),
                .wait(": retried"), .press("jDy"), .wait(": discarded"),
                .press("q"), .wait("^> default"), .press("\r"), .wait("^> +\(waiting.id)"),
                .press("C\u{1B}"), .gone("cancel job"), .press("qq"), .end(nil))
            expectGivenBack(seen.last)
            let audit = try await errand("audit", "ls", "-ojson").records
                .filter { $0["action"] != "enqueue" }
            let lines = audit.reversed().map { $0["action"].text ?? "" }
            #expect(
                lines == [
                    "queue pause", "queue resume", "job run-now", "job cancel", "job retry",
                    "job discard",
                ])
            let pause = audit.last
            #expect(pause?["reason"] == "the disk")
            #expect(pause?["operator"] == "tester")
            #expect(try await number("SELECT count(*) FROM errand.dead_jobs") == 1)
            // The one that was to be cancelled, and the one that was retried.
            #expect(try await number("SELECT count(*) FROM errand.jobs") == 2)
        }

        @Test func `a table that is locked, and a lost connection, are told and got over`()
            async throws
        {
            _ = try await ground()
            let lock = try TestDatabase.here().session()
            _ = try await lock.query("BEGIN")
            _ = try await lock.query("LOCK TABLE errand.jobs")
            let program = Task {
                try await onFullScreen(
                    80, 24, ["top", "--interval", "500ms"], .wait("lock timeout"), .press("?"),
                    .wait("Lowercase keys only"), .press("x"), .gone("Lowercase keys"),
                    .sql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            + "WHERE query LIKE 'LOCK%' AND datname = current_database()"),
                    .press("u"), .wait("^> default"),
                    .sql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                            + "application_name = 'errand-look' AND datname = current_database()"
                    ),
                    .sql("SELECT errand.enqueue('demo.noop') FROM generate_series(1, 41)"),
                    .wait("^> default +42 "), .press("q"), .end(nil))
            }
            expectGivenBack(try await program.value.last)
            await lock.close()
        }

        @Test func `a server that never answers keeps nobody`() async throws {
            let listener = try LocalListener()
            let url = "postgresql://127.0.0.1:\(listener.port)/x"
            let seen = try await onFullScreen(
                80, 24, ["top"], environment: ["DATABASE_URL": url], .wait("reading …"),
                .press("?"), .wait("Lowercase keys only"), .press("x"), .gone("Lowercase"),
                .press("q"), .end(nil))
            expectGivenBack(seen.last)
            let late = try await onFullScreen(
                80, 24, ["top", "--command-timeout", "1s"], environment: ["DATABASE_URL": url],
                .wait("reading …"), .wait("timed out after 1s"), .end(nil))
            #expect(late.last?.code == 8)
            #expect(late.last?.alternate == false)
            #expect(late.last?.cooked == true)
        }

        @Test func `no colour is asked for by NO_COLOR, and one picture by --once`() async throws {
            _ = try await ground()
            let plain = try await onFullScreen(
                80, 24, ["top"], environment: ["NO_COLOR": "1"], .wait("^> default"),
                .press("q"), .end(nil))
            #expect(plain[0].colored == false)
            #expect(plain[0].reversed.isEmpty)
            let queues = try await errand("top", "--once", environment: ["COLUMNS": "100"])
            queues.expect(0)
            #expect(queues.lines[0].hasPrefix("errand top: queues "))
            #expect(queues.lines[4].hasPrefix("  default        1"))
            #expect(queues.lines.allSatisfy { $0.count <= 100 })
            #expect(!queues.output.contains("\u{1B}"))
            let dead = try await errand("top", "--once", "--state", "dead")
            dead.expect(0)
            #expect(dead.lines.filter { $0.contains("noop  dead ") }.count == 3)
        }

        @Test func `what top cannot do is refused with what to do instead`() async throws {
            try await errand("top").expect(2, "requires a terminal", "--once")
            try await errand("top", "--once", "-ojson").expect(2, "errand status")
            try await errand("top", "--once", "--queue", "nowhere").expect(3, "no queue nowhere")
            try await errand("top", "--interval", "1ms").expect(2, "--interval")
            try await errand("top", "--once", "--state", "ded").expect(2, "--state ded")
            let gone = try await errand(
                "top", "--once", environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/x"])
            gone.expect(6, "cannot be reached")
        }
    }
}
