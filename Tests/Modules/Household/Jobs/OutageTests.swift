import Foundation
import ErrandGregorian
import ErrandHousehold
import ErrandPostgres
import ErrandRecurrence
import ErrandTestServices
import Testing

@Suite("Chores when something goes wrong", .database) struct OutageTests {
    // MARK: Days on which no worker ran

    @Test func `after an outage a chore comes once, today, and what is over is nobody's`()
        async throws
    {
        let ground = try await HomeGround(members: 2, zone: "UTC")
        let daily = try await ground.chore("'2030-03-01', 'FREQ=DAILY'")
        let weekly = try await ground.chore("'2030-03-05', 'FREQ=WEEKLY'")
        try await ground.take(daily, at: "2030-03-01T00:00:10Z")
        #expect(
            try await ground.take(daily, at: "2030-03-09T12:00:00Z")
                == ["2030-03-01", "2030-03-02", "2030-03-09"])
        let turns = """
            SELECT concat_ws(' ', due_on, state, assignee_id) FROM household.occurrences
            WHERE chore_id = $1 ORDER BY due_on
            """
        let states = try await ground.session.query(turns, [.int64(daily)]).map { try $0.text(0) }
        #expect(
            states == ["2030-03-01 missed 1", "2030-03-02 missed", "2030-03-09 due 2"])
        #expect(try await ground.next(daily) == "2030-03-10 03-10 00:00")
        // What comes next week only is given late, and has the rest of the day.
        #expect(try await ground.days(weekly) == ["2030-03-05"])
        let due = """
            SELECT to_char(due_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI') || ' ' || state
            FROM household.occurrences WHERE chore_id = \(weekly)
            """
        #expect(try await ground.texts(due) == ["03-10 00:00 due"])
        // Nobody is reminded of what is over.
        let late = try #require(Instant("2030-03-09T23:59:00Z"))
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: late) == [:])
        #expect(
            try await ground.number(
                """
                SELECT sum(jsonb_array_length(args -> 'occurrence_ids')) FROM errand.jobs
                WHERE args ->> 'event' = 'chore_due'
                """) == 3)
    }

    // MARK: Zones

    @Test func `a zone that cannot be read stops the chores of its groups only`() async throws {
        let ground = try await HomeGround(zone: "UTC")
        try await ground.call("create_group(4, 'Flat 8', 'Asia/Tokyo')")
        let good = try await ground.chore("'2030-03-01', 'FREQ=DAILY'", of: 4)
        let bad = try await ground.chore("'2030-03-01', 'FREQ=DAILY'")
        _ = try await ground.session.query(
            "UPDATE household.groups SET time_zone = 'Mars/Olympus' WHERE id = 1")
        let now = try #require(Instant("2030-03-01T00:00:00Z"))
        for _ in 1...2 { _ = try await TakeChores.take(in: ground.pool, now: now) }
        #expect(try await ground.days(good) == ["2030-03-01"])
        #expect(try await ground.days(bad).isEmpty)
        // Nor do the debts of others wait for it, or what is asked for meanwhile.
        _ = try await NotifyBalances.handOut(in: ground.pool, now: now)
        let asked = try await ground.chore("'2030-03-02'")
        #expect(try await ground.next(asked) == "none")
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: .now()) == [:])
        let rows = GroupRows(session: ground.session)
        let fault = try await rows.group(1)?.zoneFault
        #expect(fault?.contains("there is no time zone \"Mars/Olympus\"") == true, "\(fault ?? "")")
        #expect(try await rows.group(2)?.zoneFault == nil)
        let health = try await HouseholdHealth.read(ground.session)
        #expect(health.badZones.map(\.name) == ["Mars/Olympus"])
        #expect(health.badZones.map(\.groups) == [1] && health.groups == 2)
    }

    @Test func `once a zone can be read again, its chores come, and what was asked for is planned`()
        async throws
    {
        let ground = try await HomeGround(zone: "UTC")
        let chore = try await ground.chore("'2030-03-01', 'FREQ=DAILY'")
        try await ground.call("fail_zone('UTC', 'cannot be read', now())")
        let lost = try await ground.number("SELECT household.add_chore(1, 'B', '2030-03-01')")
        _ = try await ground.session.query("DELETE FROM errand.jobs WHERE kind = 'household.plan'")
        #expect(try await ground.take(chore, at: "2030-03-01T00:00:00Z").isEmpty)
        _ = try await WatchZones.run(in: ground.pool, now: .now())
        try await ground.work()
        #expect(try await GroupRows(session: ground.session).group(1)?.zoneFault == nil)
        #expect(try await ground.next(lost) == "2030-03-01 03-01 00:00")
        #expect(try await ground.take(chore, at: "2030-03-01T00:00:00Z") == ["2030-03-01"])
    }

    @Test func `times are computed anew when the rules of a zone change`() async throws {
        let ground = try await HomeGround()
        let chore = try await ground.chore("'2030-07-01', 'FREQ=DAILY', at_time => '20:00'")
        try await ground.take(chore, at: "2030-07-01T04:00:00Z")
        let now = try #require(Instant("2030-07-01T04:00:00Z"))
        _ = try await NotifyBalances.handOut(in: ground.pool, now: now)
        let times = """
            SELECT concat_ws(' ', c.next_at, o.due_at, o.remind_at, o.remind_from,
                (SELECT string_agg(e.at::text, ' ' ORDER BY e.at) FROM household.month_ends e
                    WHERE e.at > '2030-07-01'))
            FROM household.chores c JOIN household.occurrences o ON o.chore_id = c.id
            """
        let right = try await ground.texts(times)
        #expect(try await WatchZones.run(in: ground.pool, now: now) == 0)
        // As if they had been computed before a government gave daylight saving up.
        try await ground.session.script(
            """
            UPDATE household.zones SET rules = 'other';
            UPDATE household.chores SET next_at = next_at + interval '1 hour';
            UPDATE household.occurrences SET due_at = due_at + interval '1 hour',
                remind_at = remind_at + interval '1 hour',
                remind_from = remind_from + interval '1 hour';
            UPDATE household.month_ends SET at = at + interval '1 hour' WHERE notified_at IS NULL
            """)
        #expect(try await ground.texts(times) != right)
        #expect(try await WatchZones.run(in: ground.pool, now: now) == 1)
        #expect(try await ground.texts(times) == right)
        #expect(try await WatchZones.run(in: ground.pool, now: now) == 0)
    }

    // MARK: What is not planned any more

    @Test func `a chore whose plan died has a fault, of which all are told once`() async throws {
        let ground = try await HomeGround()
        let chore = try await ground.number("SELECT household.add_chore(1, 'B', '2030-03-01')")
        // Its job is still under way.
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: .now()) == [:])
        _ = try await ground.session.query("DELETE FROM errand.jobs WHERE kind = 'household.plan'")
        #expect(
            try await SweepHouseholds.sweep(in: ground.pool, now: .now()) == ["fail_unplanned": 1])
        #expect(try await SweepHouseholds.sweep(in: ground.pool, now: .now()) == [:])
        try await ground.work()
        try await ground.repeatAll()
        #expect(
            try await ground.told().filter { $0.hasPrefix("chore_fault") }
                == ["chore_fault 1", "chore_fault 2", "chore_fault 3"])
        #expect(try await ground.next(chore).contains("could not be computed"))
    }

    @Test func `a rule that was spoilt is told when it is taken`() async throws {
        let ground = try await HomeGround(members: 2, zone: "UTC")
        let chore = try await ground.chore("'2030-03-01', 'FREQ=DAILY'")
        _ = try await ground.session.query("UPDATE household.chores SET rule = 'FREQ=HOURLY'")
        #expect(try await ground.take(chore, at: "2030-03-01T00:00:00Z") == ["2030-03-01"])
        #expect(try await ground.next(chore).contains("use FREQ=DAILY"))
        try await ground.work()
        #expect(
            try await ground.told().filter { $0.hasPrefix("chore_fault") }
                == ["chore_fault 1", "chore_fault 2"])
    }

    @Test func `a rotation whose only one has left stops, and the others are told`() async throws {
        let ground = try await HomeGround(zone: "UTC")
        let chore = try await ground.chore("'2030-03-01', 'FREQ=DAILY', persons => '{3}'")
        try await ground.take(chore, at: "2030-03-01T00:00:00Z")
        try await ground.call("leave(3)")
        try await ground.call("set_group(1, NULL, 'Asia/Tokyo')")
        try await ground.work()
        #expect(try await ground.next(chore).hasPrefix("Nobody who takes turns lives here"))
        #expect(try await ground.take(chore, at: "2030-03-05T00:00:00Z") == ["2030-03-01"])
        #expect(
            try await ground.told().filter { $0.hasPrefix("chore_fault") }
                == ["chore_fault 1", "chore_fault 2"])
        // Somebody takes it, and what is due of it.
        try await ground.call("set_rotation(1, \(chore), '{2}', false)")
        try await ground.work()
        #expect(try await ground.next(chore).hasPrefix("2030-03-02"))
        #expect(
            try await ground.texts("SELECT assignee_id::text FROM household.occurrences") == ["2"])
    }

    // MARK: Reminders

    /// What is given when, and when it is due and told to be overdue; Toronto is at -05:00, and at
    /// -04:00 from 8 March 2026 to 1 November 2026.
    @Test(
        "a turn has a day before it is told to be overdue",
        arguments: [
            // By the end of its day: overdue when the next begins.
            ("2026-01-10", nil, "2026-01-10T05:00:00Z", "2026-01-11T05:00Z", "2026-01-11T05:00Z"),
            // At a time: overdue then, told a day after it was given.
            ("2026-01-10", 8, "2026-01-10T05:00:00Z", "2026-01-10T13:00Z", "2026-01-11T05:00Z"),
            ("2026-01-10", 8, "2026-01-10T09:00:00Z", "2026-01-10T13:00Z", "2026-01-11T09:00Z"),
            // Nights on which clocks change: not before the next day, nor before a day.
            ("2026-11-01", 8, "2026-11-01T04:00:00Z", "2026-11-01T13:00Z", "2026-11-02T05:00Z"),
            ("2026-03-08", 8, "2026-03-08T05:00:00Z", "2026-03-08T12:00Z", "2026-03-09T05:00Z"),
            // Given late: the rest of that day, or until its time if that is still to come.
            ("2026-01-07", nil, "2026-01-10T15:00:00Z", "2026-01-11T05:00Z", "2026-01-11T15:00Z"),
            ("2026-01-07", 8, "2026-01-10T15:00:00Z", "2026-01-11T05:00Z", "2026-01-11T15:00Z"),
            ("2026-01-07", 20, "2026-01-10T15:00:00Z", "2026-01-11T01:00Z", "2026-01-11T15:00Z"),
            // Brought forward.
            ("2026-01-12", nil, "2026-01-10T15:00:00Z", "2026-01-13T05:00Z", "2026-01-13T05:00Z"),
        ] as [(String, Int?, String, String, String)])
    func given(day: String, hour: Int?, at: String, due: String, remind: String) throws {
        let numbers = day.split(separator: "-").compactMap { Int($0) }
        let plan = ChorePlan(
            .once, startsOn: CivilDate(year: 2026, month: 1, day: 1),
            atTime: hour.map { $0 * 3_600 },
            zone: try ZoneDatabase().zone(named: "America/Toronto"))
        let giving = plan.given(
            CivilDate(year: numbers[0], month: numbers[1], day: numbers[2]),
            at: try #require(Instant(at)))
        func moment(_ text: String) throws -> Instant {
            try #require(Instant(text.replacing("Z", with: ":00Z")))
        }
        #expect(giving.due == (try moment(due)))
        #expect(giving.remindFrom == (try moment(remind)))
    }

    @Test func `who hears too late at their own time is told of a turn before`() async throws {
        // Where it is day now.
        let hour = Int(Date().timeIntervalSince1970) / 3_600 % 24
        let zone = (6..<18).contains(hour) ? "UTC" : "Pacific/Auckland"
        let ground = try await HomeGround(members: 2, zone: zone)
        _ = try await ground.session.query(
            "UPDATE people.people SET time_zone = $1, notice_time = '23:00'", [.text(zone)])
        let local = "(now() AT TIME ZONE '\(zone)')"
        _ = try await ground.chore(
            "\(local)::date, 'FREQ=DAILY', at_time => (\(local) + interval '2 hours')::time")
        _ = try await ground.chore("\(local)::date, 'FREQ=DAILY'")
        _ = try await TakeChores.take(in: ground.pool, now: .now())
        try await ground.work()
        #expect(
            try await ground.texts(
                """
                SELECT status::text FROM notification.notices
                WHERE kind = 'household.chore_due' ORDER BY subject
                """) == ["sent", "held"])
        // It is overdue when its time is over; that is told a day after it was given.
        let soon = Instant.now().adding(.seconds(3 * 3_600))
        #expect(
            try await SweepHouseholds.sweep(in: ground.pool, now: soon) == ["remind_overdue": 1])
        let states = "SELECT state || ' ' || reminders FROM household.occurrences ORDER BY id"
        #expect(try await ground.texts(states) == ["overdue 0", "due 0"])
        let later = Instant.now().adding(.seconds(86_460))
        _ = try await ground.session.query("UPDATE household.chores SET next_at = '2100-01-01Z'")
        _ = try await SweepHouseholds.sweep(in: ground.pool, now: later)
        #expect(try await ground.texts(states)[0] == "overdue 1")
    }
}
