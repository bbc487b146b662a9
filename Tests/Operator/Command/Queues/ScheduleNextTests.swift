import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("errand schedule next") struct ScheduleNextTests {
        /// It needs no server.
        private static let bare = ["DATABASE_URL": "", "REDIS_URL": ""]

        private func next(
            _ arguments: String..., at place: SourceLocation = #_sourceLocation
        ) async throws -> Run {
            let run = try await errand(
                ["schedule", "next"] + arguments, environment: Self.bare, at: place)
            return run
        }

        @Test func `prints one object a line`() async throws {
            let run = try await next(
                "30 1 * * *", "--tz", "America/Toronto", "--from", "2026-10-31T00:00:00Z",
                "--count", "2", "--output", "json")
            run.expect(0)
            #expect(
                run.output == """
                    {"at":"2026-10-31T05:30:00.000000Z","local":"2026-10-31T01:30:00-04:00"}
                    {"at":"2026-11-01T05:30:00.000000Z","local":"2026-11-01T01:30:00-04:00"}

                    """)
            #expect(run.errors.isEmpty)
        }

        @Test func `UTC unless a zone is given, from now on, ten of them`() async throws {
            let run = try await next("@daily", "-ojson")
            run.expect(0)
            let records = try run.records
            #expect(records.count == 10)
            for record in records {
                #expect(record.names == ["at", "local"])
                #expect(record["local"].text?.hasSuffix("T00:00:00Z") == true)
            }
        }

        @Test func `the moment itself does not count, forward and back`() async throws {
            let from = ["--from", "2026-11-20T09:00:00Z", "--count", "2", "-ojson"]
            let forward = try await errand(
                ["schedule", "next", "0 9 * * *"] + from, environment: Self.bare)
            #expect(
                try forward.records.map { $0["local"] }
                    == ["2026-11-21T09:00:00Z", "2026-11-22T09:00:00Z"])
            let back = try await errand(
                ["schedule", "next", "0 9 * * *", "--before"] + from, environment: Self.bare)
            #expect(
                try back.records.map { $0["local"] }
                    == ["2026-11-19T09:00:00Z", "2026-11-18T09:00:00Z"])
        }

        // MARK: Days on which the clocks change

        private func changing(
            _ expression: String, _ from: String, _ options: String...
        ) async throws -> [JSON] {
            let run = try await errand(
                ["schedule", "next", expression, "--tz", "America/Toronto", "--from", from]
                    + ["--count", "3", "-ojson", "--notes"] + options, environment: Self.bare)
            run.expect(0)
            let records = try run.records
            try #require(records.count == 3)
            return records
        }

        @Test func `the end of daylight saving time`() async throws {
            let from = "2026-10-31T00:00:00Z"
            let once = try await changing("30 1 * * *", from)
            #expect(
                once.map { $0["local"] } == [
                    "2026-10-31T01:30:00-04:00", "2026-11-01T01:30:00-04:00",
                    "2026-11-02T01:30:00-05:00",
                ])
            // What programs rely on is in UTC.
            #expect(
                once.map { $0["at"] } == [
                    "2026-10-31T05:30:00.000000Z", "2026-11-01T05:30:00.000000Z",
                    "2026-11-02T06:30:00.000000Z",
                ])
            #expect(once[0]["note"] == nil)
            #expect(once[1]["note"].text?.contains("runs only the first time") == true)
            #expect(once[2]["note"] == nil)
            let twice = try await changing("30 1 * * *", from, "--repeat", "both")
            #expect(twice[1]["note"].text?.hasPrefix("first of two") == true)
            #expect(twice[2]["local"] == "2026-11-01T01:30:00-05:00")
            #expect(twice[2]["note"].text?.hasPrefix("second of two") == true)
            let last = try await changing("30 1 * * *", from, "--repeat", "last")
            #expect(last[1]["local"] == "2026-11-01T01:30:00-05:00")
            #expect(last[1]["note"].text?.contains("runs only the last time") == true)
        }

        @Test func `the beginning of daylight saving time`() async throws {
            let from = "2026-03-07T12:00:00Z"
            let moved = try await changing("30 2 * * *", from)
            #expect(moved[0]["local"] == "2026-03-08T03:00:00-04:00")
            #expect(
                moved[0]["note"]
                    == "moved from 2026-03-08 02:30, which does not exist: clocks go forward")
            #expect(moved[1].names == ["at", "local"])
            #expect(moved[1]["local"] == "2026-03-09T02:30:00-04:00")
            let skipped = try await changing("30 2 * * *", from, "--gap", "skip")
            #expect(skipped[0]["local"] == "2026-03-09T02:30:00-04:00")
            #expect(
                skipped[0]["note"]
                    == "2026-03-08 02:30 does not exist and was skipped: clocks went forward")
        }

        @Test func `a table tells local time, UTC, in how long, and notes`() async throws {
            let run = try await next(
                "30 2 * * *", "--tz", "America/Toronto", "--from", "2026-03-08T00:00:00Z",
                "--count", "2")
            run.expect(0)
            let words = run.lines[0].split(separator: " ")
            #expect(words == ["AT", "UTC", "WHEN", "NOTE"])
            #expect(run.lines[1].hasPrefix("2026-03-08T03:00:00-04:00  2026-03-08 07:00:00Z  "))
            #expect(run.lines[1].contains(" ago  moved from 2026-03-08 02:30"))
        }

        // MARK: Mistakes

        static let malformed = [
            ("", "nothing but blanks"), ("daily", "did you mean @daily?"),
            ("* * * *", "column 8: only 4 fields"),
            ("* * * * * * *", "a seventh field, `*`, the year"),
            ("* * * * * * * *", "8 fields; expected 5 fields"),
            ("60 * * * *", "column 1, minute: 60 is too large; expected 0 to 59"),
            ("* 24 * * *", "column 3, hour: 24 is too large; expected 0 to 23"),
            ("* * 0 * *", "column 5, day of month: 0 is too small"),
            ("* * * 13 *", "column 7, month: 13 is too large"),
            ("* * * * 8", "column 9, weekday: 8 is too large"),
            ("*/0 * * * *", "a step of 0 goes nowhere"),
            ("*/60 * * * *", "a step of 60 is too large"),
            ("5-1 * * * *", "5-1 runs backwards; expected a rising range, or 5-59,0-1"),
            ("1, * * * *", "nothing follows `,`"), (",1 * * * *", "nothing before `,`"),
            ("1- * * * *", "nothing follows `-`"), ("a * * * *", "the name a"),
            ("* * * JANU *", "JANU is no month"), ("* * * * MONDAY", "MONDAY is no weekday"),
            ("0 0 30 2 *", "`30 2 *` never fires"), ("@reboot", "@reboot names no time"),
            ("@dayly", "there is no macro @dayly; expected @daily"),
            ("@every", "nothing follows @every"), ("@every 5", "5 has no unit"),
            ("@every 1.5h", "1.5h has a fraction"), ("@every 0s", "0s is no time at all"),
            ("@every 400d", "400d is too long"), ("@daily 5", "`5` after @daily"),
            ("CRON_TZ=UTC 0 9 * * *", "`CRON_TZ=UTC` sets a time zone"),
            ("0 0 L-40 * *", "L-40 is no day of any month"),
            ("0 0 15W,16 * *", "`W` in a list"), ("0 0 * * 2#6", "#6 is no weekday"),
            ("0 0 * * L", "`L` without a weekday"), ("? * * * *", "`?` stands only in the day"),
            ("0 9 * * 1;2", "column 10, weekday: unexpected `;`"),
        ]

        @Test func `an expression that is none is refused where it goes wrong`() async throws {
            var messages: Set<String> = []
            for (expression, text) in Self.malformed {
                let run = try await next(expression)
                run.expect(2, "errand: '\(expression)': column ", text, "fields: minute hour")
                #expect(run.output.isEmpty)
                let message = run.errors.split(separator: "\n").first ?? ""
                messages.insert(message.split(separator: "': ").last.map(String.init) ?? "")
            }
            #expect(messages.count == Self.malformed.count, "each has a text of its own")
            let json = try await next("60 * * * *", "-ojson")
            #expect(try json.failure["exit"] == 2)
        }

        @Test func `a zone that is none is refused with what was meant`() async throws {
            for (zone, text) in [
                ("Amerika/Toronto", "did you mean America/Toronto?"), ("EST", "an abbreviation"),
                ("+05:00", "a fixed distance from UTC"), ("America", "an area"),
                ("../etc/passwd", "is a path"), ("Mars/Base", "there is no time zone"),
            ] {
                try await next("@daily", "--tz", zone).expect(2, "--tz: ", text, "IANA")
            }
        }

        @Test func `other options that do not fit`() async throws {
            for (options, text) in [
                (["--from", "2026-11-01T01:30"], "expected an RFC 3339 time"),
                (["--from", "infinity"], "expected an RFC 3339 time"),
                (["--count", "0"], "from 1 to 10000"), (["--count", "10001"], "from 1 to 10000"),
                (["--gap", "move"], "expected shift or skip"),
                (["--repeat", "twice"], "expected first, last or both"),
                (["9", "*"], "unexpected '9'"),
            ] {
                try await errand(["schedule", "next", "@daily"] + options, environment: Self.bare)
                    .expect(2, text)
            }
            try await errand("schedule", "next", environment: Self.bare).expect(2, "needs 'EXPR'")
        }

        // MARK: Schedules

        @Test func `a schedule's name stands for its times, start and end`() async throws {
            try await made(
                "schedule", "add", "a.b", "0 12 * * *", "--kind", "demo.noop", "--tz",
                "Asia/Tokyo", "--starts", "2095-01-01T00:00:00Z", "--ends", "2095-01-03T00:00:00Z")
            let run = try await errand("schedule", "next", "a.b", "-ojson")
            run.expect(0, "no more occurrences after that time")
            #expect(
                try run.records.map { $0["local"] }
                    == ["2095-01-01T12:00:00+09:00", "2095-01-02T12:00:00+09:00"])
            try await errand("schedule", "next", "a.b", "--tz", "UTC")
                .expect(2, "--tz works only with an expression", "'0 12 * * *'")
            try await errand("schedule", "next", "a.c")
                .expect(3, "there is no schedule a.c", "did you mean a.b?")
            try await errand("schedule", "next", "weekdays")
                .expect(2, "'weekdays' is neither a schedule nor an expression")
        }
    }
}
