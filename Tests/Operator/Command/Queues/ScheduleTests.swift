import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand schedule") struct ScheduleTests {
        private func add(_ name: String, _ options: String...) async throws {
            let run = try await errand(
                ["schedule", "add", name, "0 9 * * *", "--kind", "demo.noop"] + options)
            run.expect(0)
        }

        /// As a program does when it starts.
        private func declare(_ name: String, _ recurrence: String) async throws {
            try await change(
                """
                SELECT errand.put_schedule('\(name)', jsonb_build_object('kind', 'demo.noop',
                    'recurrence', '\(recurrence)', 'zone', 'UTC', 'args', '{}'::jsonb,
                    'queue', NULL), NULL)
                """)
        }

        // MARK: add

        @Test func `add shows what was added, with its next times`() async throws {
            let added = try await made(
                "schedule", "add", "shop.report", "30 9 * * MON-FRI", "--kind", "demo.sleep",
                "--args", #"{"ms": 5}"#, "--tz", "America/Toronto", "--queue", "mail",
                "--priority", "high", "--max-attempts", "3", "--gap", "skip", "--repeat", "last",
                "--starts", "2095-01-01T00:00:00Z", "--ends", "2096-01-01T00:00:00Z",
                "--jitter", "30s", "--catch-up", "merge", "--catch-up-window", "2d",
                "--catch-up-limit", "7", "--overlap", "buffer-one", "--pause-after", "4",
                "--run-limit", "9")
            for (name, value) in [
                ("name", "shop.report"), ("state", "active"), ("origin", "operator"),
                ("recurrence", "30 9 * * MON-FRI"), ("zone", "America/Toronto"),
                ("kind", "demo.sleep"), ("queue", "mail"), ("gap", "skip"), ("repeats", "last"),
                ("catch_up", "merge"), ("overlap", "buffer-one"), ("priority", "high"),
                ("changed_by", "tester"), ("args", .object(["ms": 5])), ("max_attempts", 3),
                ("jitter_ms", 30_000), ("catch_up_window_s", 172_800), ("catch_up_limit", 7),
                ("pause_after", 4), ("run_limit", 9), ("runs", 0), ("args_version", 1),
            ] as [(String, JSON)] {
                #expect(added[name] == value, "\(name)")
            }
            #expect(
                added["next_times"] == [
                    "2095-01-03T09:30:00-05:00", "2095-01-04T09:30:00-05:00",
                    "2095-01-05T09:30:00-05:00",
                ])
            #expect(try await made("schedule", "show", "shop.report")["name"] == "shop.report")
        }

        @Test func `add takes a name once, however many add it`() async throws {
            try await add("a.b")
            try await errand("schedule", "add", "a.b", "@daily", "--kind", "demo.noop")
                .expect(4, "the schedule a.b already exists", "errand schedule edit a.b")
            let racers = try (0..<4).map { _ in
                try start(["schedule", "add", "a.c", "@daily", "--kind", "demo.noop"])
            }
            var codes: [Int32] = []
            for racer in racers { codes.append(try await finish(racer).code) }
            #expect(codes.sorted() == [0, 4, 4, 4])
            #expect(try await number("SELECT count(*) FROM errand.schedules") == 2)
        }

        @Test func `what add refuses`() async throws {
            for (arguments, code, text) in [
                (["Bad Name", "@daily", "--kind", "demo.noop"], 2, "not a valid schedule name"),
                (["a.b", "@daily"], 2, "--kind KIND is needed"),
                (["a.b", "@daily", "--kind", "demo.nop"], 3, "did you mean demo.noop?"),
                (["a.b", "61 * * * *", "--kind", "demo.noop"], 2, "61 is too large"),
                (["a.b", "@daily", "--kind", "demo.noop", "--tz", "Mars"], 2, "no time zone"),
                (["a.b", "@daily", "--kind", "demo.noop", "--args", "[1]"], 2, "no"),
                (["a.b", "@daily", "--kind", "demo.noop", "--queue", "A B"], 2, "up to 63"),
                (["a.b", "@daily", "--kind", "demo.noop", "--overlap", "no"], 2, "buffer-one"),
                (["a.b", "@daily", "--kind", "demo.noop", "--jitter", "5"], 2, "a duration"),
                (
                    [
                        "a.b", "@daily", "--kind", "demo.noop", "--ends", "2020-01-01T00:00:00Z",
                    ], 2, "it would never run"
                ),
                (
                    [
                        "a.b", "@daily", "--kind", "demo.noop", "--starts",
                        "2095-01-02T00:00:00Z", "--ends", "2095-01-01T00:00:00Z",
                    ], 2, "is not after the start"
                ),
            ] as [([String], Int32, String)] {
                try await errand(["schedule", "add"] + arguments).expect(code, text)
            }
            #expect(try await number("SELECT count(*) FROM errand.schedules") == 0)
            try await errand(
                "schedule", "add", "a.b", "@daily", "--kind", "not.yet", "--allow-unknown-kind"
            ).expect(0)
        }

        @Test func `add can leave it paused`() async throws {
            let added = try await made(
                "schedule", "add", "a.b", "@every 1s", "--kind", "demo.noop", "--paused", "later")
            #expect(added["state"] == "paused")
            #expect(added["pause_reason"] == "later")
            #expect(added["paused_by"] == "tester")
        }

        // MARK: ls

        @Test func `ls filters, and goes on after a name`() async throws {
            try await add("a.one", "--queue", "mail")
            try await add("a.two")
            try await add("a.three", "--paused", "not now")
            try await change(
                """
                UPDATE errand.schedules SET replan = NULL, next_due = now() - interval '1 hour',
                    next_at = now() - interval '1 hour' WHERE name = 'a.two'
                """)
            for (options, names) in [
                ([], ["a.one", "a.three", "a.two"]), (["--queue", "mail"], ["a.one"]),
                (["--kind", "demo.noop"], ["a.one", "a.three", "a.two"]),
                (["--kind", "demo.fail"], []), (["--paused"], ["a.three"]),
                (["--overdue"], ["a.two"]), (["--limit", "1"], ["a.one"]),
                (["--limit", "1", "--cursor", "a.one"], ["a.three"]),
            ] as [([String], [String])] {
                let run = try await errand(["schedule", "ls", "-ojson"] + options)
                run.expect(0)
                #expect(try run.records.map { $0["name"].text } == names, "\(options)")
            }
            let first = try await errand("schedule", "ls", "--limit", "1")
            first.expect(0, "more: errand schedule ls --limit 1 --cursor a.one")
            let table = try await errand("schedule", "ls")
            #expect(table.lines[0].hasPrefix("NAME"))
            #expect(table.lines[3].contains("overdue"))
            try await errand("schedule", "ls", "--kind", "no.such").expect(0, "no schedules match")
        }

        // MARK: edit

        @Test func `edit shows before and after`() async throws {
            try await add("a.b", "--queue", "mail", "--ends", "2095-01-01T00:00:00Z")
            let run = try await errand(
                "schedule", "edit", "a.b", "--cron", "0 8 * * *", "--tz", "Europe/Berlin",
                "--clear", "queue,ends", "-ojson")
            run.expect(0, "next: ", "T08:00:00+0")
            let records = try run.records
            #expect(records.map { $0["setting"] } == ["recurrence", "zone", "ends_at", "queue"])
            #expect(records[0]["before"] == "0 9 * * *")
            #expect(records[0]["after"] == "0 8 * * *")
            #expect(records[3]["before"] == "mail")
            #expect(records[3]["after"] == nil)
        }

        @Test func `what edit refuses`() async throws {
            try await add("a.b", "--starts", "2095-01-01T00:00:00Z")
            for (arguments, code, text) in [
                (["a.b"], 2, "no setting is given"),
                (["a.b", "--cron", "0 9 * * *"], 2, "already has these settings"),
                (["a.c", "--cron", "0 8 * * *"], 3, "did you mean a.b?"),
                (["a.b", "--cron", "0 8 * *"], 2, "only 4 fields"),
                (["a.b", "--reset", "cron"], 4, "so --reset has no values"),
                (["a.b", "--clear", "kind"], 2, "--clear kind: expected gap"),
                (["a.b", "--clear", "ends", "--ends", "2096-01-01T00:00:00Z"], 2, "given twice"),
                (["a.b", "--ends", "2090-01-01T00:00:00Z"], 2, "is not after the start"),
                (["a.b", "--kind", "no.such"], 3, "no program has declared the kind"),
            ] as [([String], Int32, String)] {
                try await errand(["schedule", "edit"] + arguments).expect(code, text)
            }
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM errand.schedules
                    WHERE recurrence = '0 9 * * *' AND changed_at < created_at + interval '1 s'
                    """) == 1)
        }

        @Test func `an operator's change stays when the program declares it again`() async throws {
            try await declare("a.b", "0 9 * * *")
            #expect(try await made("schedule", "ls")["origin"] == "code")
            try await errand(
                "schedule", "edit", "a.b", "--cron", "0 7 * * *", "--queue", "mail"
            ).expect(0)
            try await declare("a.b", "0 10 * * *")
            let listed = try await made("schedule", "ls")
            #expect(listed["recurrence"] == "0 7 * * *")
            #expect(listed["changed"] == ["queue", "recurrence"])
            #expect(
                try await errand("schedule", "ls").output
                    .contains("code, changed: queue, recurrence"))
            let shown = try await made("schedule", "show", "a.b")
            #expect(shown["declared"].elements.map { $0["declared"] } == ["0 10 * * *", nil])
            let back = try await errand(
                "schedule", "edit", "a.b", "--reset", "cron,queue", "-ojson")
            back.expect(0)
            #expect(try back.records.map { $0["after"] } == ["0 10 * * *", nil])
            #expect(try await made("schedule", "ls")["changed"] == [])
        }

        // MARK: rm, pause, resume, trigger

        @Test func `rm asks, and says what a declared one does`() async throws {
            try await add("a.b")
            try await errand("schedule", "rm", "a.b")
                .expect(5, "delete the schedule a.b and its history of 0 runs?", "--yes")
            #expect(try await made("schedule", "rm", "a.b", "--yes")["result"] == "removed")
            try await errand("schedule", "rm", "a.b", "--yes").expect(3, "there are no schedules")
            try await declare("a.c", "0 9 * * *")
            try await errand("schedule", "rm", "a.c", "--yes")
                .expect(0, "will add it again when it starts", "errand schedule pause a.c")
        }

        @Test func `pause says by whom and why, and resume what it passed over`() async throws {
            try await add("a.b")
            let paused = try await made("schedule", "pause", "a.b", "--note", "stocktaking")
            #expect(paused["state"] == "paused")
            #expect(paused["paused_by"] == "tester")
            #expect(paused["pause_reason"] == "stocktaking")
            try await change(
                """
                UPDATE errand.schedules SET replan = NULL,
                    next_due = date_trunc('day', now()) - interval '3 days' + interval '9 h',
                    next_at = date_trunc('day', now()) - interval '3 days' + interval '9 h'
                """)
            let resumed = try await errand("schedule", "resume", "a.b", "-ojson")
            resumed.expect(
                0, "the pause skipped ", " occurrences since ", "errand schedule backfill a.b",
                "next: ")
            #expect(try resumed.record["state"] == "active")
            // Neither is a mistake the second time.
            try await errand("schedule", "resume", "a.b").expect(0, "a.b was not paused")
            try await errand("schedule", "pause", "a.b").expect(0)
            try await errand("schedule", "pause", "a.b").expect(0)
        }

        @Test func `trigger makes a job that knows its schedule`() async throws {
            try await add("a.b", "--paused", "not by the clock")
            let made = try await ErrandCommandTests.made("schedule", "trigger", "a.b")
            #expect(made["schedule"] == "a.b")
            let job = try await ErrandCommandTests.made("job", "show", made["job"].id)
            #expect(job["schedule"] == "a.b")
            #expect(job["kind"] == "demo.noop")
            #expect(job["due_at"].text?.hasSuffix("Z") == true)
            #expect(job["merged_due"] == [])
            let history = try await ErrandCommandTests.made("schedule", "history", "a.b")
            #expect(history["origin"] == "trigger")
            #expect(history["job"] == made["job"])
        }

        @Test(arguments: ["show", "edit", "rm", "pause", "resume", "trigger", "history"])
        func `a schedule that is not there`(verb: String) async throws {
            let options = verb == "edit" ? ["--tz", "UTC"] : []
            try await add("shop.report")
            try await errand(["schedule", verb, "shop.repotr"] + options)
                .expect(3, "there is no schedule shop.repotr", "did you mean shop.report?")
            try await errand("schedule", verb).expect(2, "needs NAME")
        }
    }
}
