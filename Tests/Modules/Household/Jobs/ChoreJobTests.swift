import Foundation
import ErrandGregorian
import ErrandHousehold
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite("Chores that come again", .database) struct ChoreJobTests {
    @Test func `every second Tuesday, in the zone of the group, over the nights clocks change`()
        async throws
    {
        let ground = try await HomeGround()
        let chore = try await ground.chore(
            "'2030-03-05', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU', at_time => '20:00'")
        // Standard time until 10 March 2030.
        #expect(try await ground.next(chore) == "2030-03-05 03-05 05:00")
        #expect(try await ground.take(chore, at: "2030-03-05T04:59:59Z") == [])
        #expect(try await ground.take(chore, at: "2030-03-05T05:00:00Z") == ["2030-03-05"])
        #expect(try await ground.next(chore) == "2030-03-19 03-19 04:00")
        #expect(
            try await ground.take(chore, at: "2030-03-19T04:00:00Z") == [
                "2030-03-05", "2030-03-19",
            ])
        let due = try await ground.texts(
            """
            SELECT to_char(due_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI')
            FROM household.occurrences ORDER BY id
            """)
        #expect(due == ["03-06 01:00", "03-20 00:00"])
        // What nobody was there to take is not made up for.
        #expect(
            try await ground.take(chore, at: "2030-05-01T00:00:00Z")
                == ["2030-03-05", "2030-03-19", "2030-04-02", "2030-04-30"])
        #expect(try await ground.next(chore) == "2030-05-14 05-14 04:00")
    }

    @Test func `the last day of months, once, and what ends`() async throws {
        let ground = try await HomeGround(zone: "UTC")
        let last = try await ground.chore("'2031-12-01', 'FREQ=MONTHLY;BYMONTHDAY=-1'")
        for (at, next) in [
            ("2031-12-31", "2032-01-31"), ("2032-01-31", "2032-02-29"),
            ("2032-02-29", "2032-03-31"), ("2032-03-31", "2032-04-30"),
        ] {
            try await ground.take(last, at: "\(at)T00:00:00Z")
            #expect(try await ground.next(last).hasPrefix(next))
        }
        #expect(
            try await ground.days(last)
                == ["2031-12-31", "2032-01-31", "2032-02-29", "2032-03-31"])
        let once = try await ground.chore("'2030-06-01'")
        #expect(try await ground.take(once, at: "2030-06-01T00:00:00Z") == ["2030-06-01"])
        #expect(try await ground.next(once) == "none")
        let twice = try await ground.chore("'2030-06-02', 'FREQ=DAILY;COUNT=2'")
        for day in 2...5 { try await ground.take(twice, at: "2030-06-0\(day)T00:00:00Z") }
        #expect(try await ground.days(twice) == ["2030-06-02", "2030-06-03"])
        #expect(try await ground.next(twice) == "none")
        // What was to come once, and is asked for late, comes at once.
        let late = try await ground.chore("'2020-06-01'")
        #expect(try await ground.next(late) == "2020-06-01 06-01 00:00")
    }

    @Test func `a rule that cannot be followed is told to all who can mend it`() async throws {
        let ground = try await HomeGround()
        // Such as rules from before they were checked when they are given.
        func faulty(_ rule: String) async throws -> Int64 {
            let chore = try await ground.chore("'2030-01-01', 'FREQ=DAILY'")
            _ = try await ground.session.query(
                "UPDATE household.chores SET rule = $1 WHERE id = $2", [.text(rule), .int64(chore)])
            try await ground.call("replan(\(chore))")
            try await ground.work()
            return chore
        }
        let chore = try await faulty("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30")
        #expect(try await ground.next(chore).hasPrefix("no day in 100 years"))
        let second = try await faulty("FREQ=HOURLY")
        #expect(try await ground.next(second).contains("use FREQ=DAILY"))
        #expect(
            try await ground.told().filter { $0.hasPrefix("chore_fault") }
                == (1...2).flatMap { _ in (1...3).map { "chore_fault \($0)" } })
        try await ground.call(
            "change_chore(1, \(chore), 'Dishes', '2030-01-01', 'FREQ=DAILY', 'calendar', NULL, "
                + "NULL, false)")
        try await ground.work()
        #expect(try await ground.next(chore) == "2030-01-01 01-01 05:00")
    }

    @Test func `done late moves the next one only where it counts from then`() async throws {
        let ground = try await HomeGround(zone: "UTC")
        let floating = try await ground.chore(
            "(now() AT TIME ZONE 'UTC')::date - 5, mode => 'after_done', after_days => 3")
        let fixed = try await ground.chore(
            "(now() AT TIME ZONE 'UTC')::date + 1, 'FREQ=DAILY;INTERVAL=4'")
        let now = Instant.now()
        _ = try await TakeChores.take(in: ground.pool, now: now)
        #expect(try await ground.next(floating) == "none")
        // The days that the fixed one has do not move when it is done late.
        _ = try await TakeChores.take(in: ground.pool, now: now.adding(.seconds(2 * 86_400)))
        let before = try await ground.next(fixed)
        let turns = try await ground.texts(
            "SELECT id::text FROM household.occurrences WHERE state = 'due' ORDER BY chore_id")
        for turn in turns { try await ground.call("done(2, \(turn))") }
        try await ground.work()
        #expect(try await ground.next(fixed) == before)
        #expect(
            try await ground.texts(
                """
                SELECT (c.next_on = (o.done_at AT TIME ZONE 'UTC')::date + 3)::text
                FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
                WHERE c.id = \(floating)
                """) == ["true"])
        // The same again changes nothing.
        let planned = try await ground.next(floating)
        try await ground.repeatAll()
        #expect(try await ground.next(floating) == planned)
    }

    @Test func `turns go round fairly through batches, joins and leaves`() async throws {
        let ground = try await HomeGround(people: 5, members: 3, zone: "UTC")
        _ = try await ground.session.query("UPDATE household.rules SET max_chores = 600")
        for _ in 0..<520 {
            try await ground.session.script(
                "SELECT household.add_chore(1, 'C', '2030-01-01', 'FREQ=DAILY')")
        }
        try await ground.work()
        #expect(
            try await TakeChores.take(
                in: ground.pool, now: #require(Instant("2030-01-01T00:00:00Z")))
                == 520)
        #expect(
            try await TakeChores.take(
                in: ground.pool, now: #require(Instant("2030-01-01T00:00:00Z")))
                == 0)
        // Two jobs tell all of them.
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE args ->> 'event' = 'chore_due'") == 2)
        _ = try await ground.session.query(
            "UPDATE household.chores SET next_on = NULL, next_at = NULL WHERE id > 1")
        func turns(_ days: ClosedRange<Int>) async throws -> [String] {
            for day in days {
                let text = day < 10 ? "0\(day)" : "\(day)"
                try await ground.take(1, at: "2030-01-\(text)T00:00:00Z")
            }
            return try await ground.texts(
                """
                SELECT count(*)::text FROM household.occurrences
                WHERE chore_id = 1 AND due_on BETWEEN '2030-01-\(days.lowerBound)'
                    AND '2030-01-\(days.upperBound)' GROUP BY assignee_id ORDER BY assignee_id
                """)
        }
        #expect(try await turns(2...7) == ["2", "2", "2"])
        try await ground.join(4)
        #expect(try await turns(8...15) == ["2", "2", "2", "2"])
        try await ground.call("leave(2)")
        // What was due of who left went to another one, who has had a turn more.
        let counts = try await turns(16...21).compactMap { Int($0) }
        #expect(counts.reduce(0, +) == 6 && counts.count == 3, "\(counts)")
        #expect(counts.max()! - counts.min()! <= 1, "\(counts)")
    }

    // MARK: Without a database

    @Test func `days begin where clocks change at midnight, and times that are left out move on`()
        throws
    {
        let zones = ZoneDatabase()
        func plan(_ zone: String, _ time: Int?) throws -> ChorePlan {
            ChorePlan(
                .once, startsOn: CivilDate(year: 2026, month: 1, day: 1), atTime: time,
                zone: try zones.zone(named: zone))
        }
        // Midnight is left out in Beirut on 29 March 2026: the day begins at 01:00.
        let beirut = try plan("Asia/Beirut", nil)
        let spring = CivilDate(year: 2026, month: 3, day: 29)
        #expect(beirut.begin(of: spring) == Instant("2026-03-28T22:00:00Z"))
        #expect(beirut.due(on: spring) == Instant("2026-03-29T21:00:00Z"))
        // 02:30 is left out in Toronto on 8 March 2026.
        let toronto = try plan("America/Toronto", 9_000)
        #expect(
            toronto.due(on: CivilDate(year: 2026, month: 3, day: 8))
                == Instant("2026-03-08T07:00:00Z"))
        // 01:30 comes twice on 1 November 2026; the first counts.
        #expect(
            try plan("America/Toronto", 5_400).due(on: CivilDate(year: 2026, month: 11, day: 1))
                == Instant("2026-11-01T05:30:00Z"))
    }
}
