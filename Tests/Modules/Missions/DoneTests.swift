import ErrandPostgres
import ErrandTestServices
import Testing

/// What apps show of missions that wait for the review, and how missions are opened.
@Suite("Submitted missions", .database) struct DoneTests {
    private func done(_ ground: MissionGround, _ person: Int = 1, _ more: String = "")
        async throws -> [String]
    {
        try await ground.texts(
            """
            SELECT concat_ws(' ', assignment_id, state, amount, pending, credited, currency,
                reason, decided_at IS NOT NULL)
            FROM missions.done(\(person)\(more.isEmpty ? "" : ", " + more))
            """)
    }

    private func pending(_ ground: MissionGround) async throws -> [String] {
        try await ground.texts("SELECT currency || ' ' || amount FROM ledger.pending(1)")
    }

    // "Pay and disappearance from the list wait for an operator's review": "the list and a
    // "pending" amount are not excused".
    @Test func `a submitted mission leaves the list at once, and stands in what is done`()
        async throws
    {
        let ground = try await MissionGround()
        #expect(try await done(ground) == [])
        let id = try await ground.submitted(try await ground.open(), 1)
        #expect(try await ground.texts("SELECT state FROM missions.listing(1)") == [])
        #expect(try await done(ground) == ["\(id) submitted 2000 2000 0 CAD f"])
        #expect(try await done(ground, 2) == [])
        #expect(try await pending(ground) == ["CAD 2000"])

        _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'return', 'too dark')")
        #expect(try await done(ground) == [])
        #expect(try await ground.texts("SELECT state FROM missions.listing(1)") == ["arrived"])
        #expect(try await pending(ground) == [])

        #expect(try await ground.answer("submit(1, \(id), 's')").reason == "ok")
        _ = try await ground.text("SELECT missions.review(\(id), 'Olga', 'approve')")
        #expect(try await done(ground) == ["\(id) approved 2000 0 2000 CAD t"])
        #expect(try await pending(ground) == [])
    }

    @Test func `what was rejected says why, and pages go back`() async throws {
        let ground = try await MissionGround()
        let first = try await ground.submitted(try await ground.open(1), 1)
        let second = try await ground.submitted(try await ground.open(3), 1)
        #expect(try await pending(ground) == ["CAD 4000"])
        _ = try await ground.text("SELECT missions.review(\(first), 'Olga', 'reject', 'blurred')")
        let (newer, older) = (
            "\(second) submitted 2000 2000 0 CAD f", "\(first) rejected 2000 0 0 CAD blurred t"
        )
        #expect(try await done(ground) == [newer, older])
        #expect(try await done(ground, 1, "max_rows => 1") == [newer])
        #expect(try await done(ground, 1, "before_id => \(second)") == [older])
        #expect(try await done(ground, 1, "max_rows => -1") == [])
    }

    // "`missions.open_mission` costs 30 to 38 ms …: it looks the zone up in `pg_timezone_names`".
    @Test func `a mission is opened without reading the files of all time zones`() async throws {
        let ground = try await MissionGround(hired: 0)
        // Whoever reads that view now fails.
        try await ground.session.script(
            """
            SET allow_system_table_mods = on;
            ALTER VIEW pg_catalog.pg_timezone_names RENAME TO pg_timezone_names_unread
            """)
        for zone in ["UTC", "America/Toronto", "America/Argentina/Buenos_Aires"] {
            let opened = try await ground.number(
                """
                SELECT missions.open_mission(1, 'T', now(), now() + interval '1 day', 2, 1,
                    '[{"kind": "report", "title": "T"}]', '\(zone)')
                """)
            #expect(opened > 0)
        }
    }

    @Test(
        "a time zone has one spelling, and is read from its own file",
        arguments: [
            ("UTC", true), ("America/Argentina/Buenos_Aires", true), ("Etc/GMT+5", true),
            ("america/toronto", false), ("EST", false), ("+05:00", false), ("FOO3BAR", false),
            ("posix/Europe/Berlin", false), ("../../etc/passwd", false), ("Europe/", false),
            ("", false), ("Foo/Bar+3", false), ("America/Toronto5", false),
        ])
    func zones(zone: String, isOne: Bool) async throws {
        let ground = try await MissionGround(hired: 0)
        let own = try await ground.text("SELECT current_setting('timezone')")
        #expect(
            try await ground.refusal(
                """
                SELECT missions.open_mission(1, 'T', now(), now() + interval '1 day', 2, 1,
                    '[{"kind": "report", "title": "T"}]', '\(zone)')
                """) == (isOne ? nil : "22023"))
        // The session keeps its own.
        #expect(try await ground.text("SELECT current_setting('timezone')") == own)
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname IN ('people', 'ledger', 'payouts', 'missions', 'household')
                    AND p.prosrc LIKE '%pg\\_timezone\\_names%'
                """) == 0)
    }

    @Test func `a closed branch has no new missions`() async throws {
        let ground = try await MissionGround(hired: 0)
        let now = try await ground.text("SELECT now()::text")
        let open = """
            SELECT missions.open_mission(1, 'T', '\(now)', '\(now)'::timestamptz + interval '1 day',
                2, 1, '[{"kind": "report", "title": "T"}]', 'UTC', request_id => 'r')
            """
        let mission = try await ground.number(open)
        _ = try await ground.number("SELECT count(establishments.close_branch(1))")
        #expect(try await ground.number(open) == mission)
        #expect(try await ground.refusal(open.replacing("'r'", with: "'s'")) == "RU001")
        #expect(
            try await ground.text(
                "SELECT state FROM missions.missions WHERE id = \(mission)") == "open")
    }

    @Test func `a request opens a mission once, and other content is refused`() async throws {
        let ground = try await MissionGround(hired: 0)
        // The times of one transaction are the same.
        func open(_ request: String, title: String = "T") -> String {
            """
            SELECT missions.open_mission(1, '\(title)', now() - interval '1 hour',
                now() + interval '1 day', 2, 1, '[{"kind": "report", "title": "T"}]', 'UTC',
                request_id => '\(request)')
            """
        }
        _ = try await ground.session.query("BEGIN")
        let first = try await ground.number(open("m1"))
        #expect(try await ground.number(open("m1")) == first)
        #expect(try await ground.number(open("m2")) == first + 1)
        _ = try await ground.session.query("COMMIT")
        #expect(try await ground.refusal(open("m1", title: "Other")) == "23505")
        #expect(try await ground.refusal(open("")) == "22023")
        #expect(try await ground.number("SELECT count(*) FROM missions.missions") == 2)
    }
}
