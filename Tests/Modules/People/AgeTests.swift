import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Ages", .database) struct AgeTests {
    @Test(arguments: [
        ("1990-05-17", "2006-05-16", false), ("1990-05-17", "2006-05-17", true),
        ("2008-02-29", "2024-02-28", false), ("2008-02-29", "2024-02-29", true),
        ("2012-02-29", "2028-02-29", true), ("2004-02-29", "2020-02-28", false),
        // 2006 has no 29 February: the birthday is 1 March.
        ("1988-02-29", "2006-02-28", false), ("1988-02-29", "2006-03-01", true),
    ])
    func `somebody born on 29 February is of age on 1 March of a common year`(
        born: String, day: String, isOfAge: Bool
    ) async throws {
        let ground = try await PeopleGround()
        let years = born.hasPrefix("1988") ? 18 : 16
        try await ground.run(
            """
            UPDATE people.people SET birth_date = '\(born)', time_zone = 'UTC' WHERE id = 1
            """)
        #expect(
            try await ground.text(
                "SELECT people.is_of_age(1, \(years), '\(day)T12:00:00Z')::text")
                == (isOfAge ? "true" : "false"))
    }

    @Test func `the day is that of the person's time zone`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            UPDATE people.people SET birth_date = '2010-06-01',
                time_zone = CASE id WHEN 1 THEN 'Pacific/Kiritimati' ELSE 'America/Toronto' END
            """)
        // 1 June begins at 10:00 UTC of 31 May in Kiritimati, and at 04:00 UTC in Toronto.
        let of = { (person: Int, at: String) in
            try await ground.text("SELECT people.is_of_age(\(person), 16, '\(at)')::text")
        }
        #expect(try await of(1, "2026-05-31T09:59:59Z") == "false")
        #expect(try await of(1, "2026-05-31T10:00:00Z") == "true")
        #expect(try await of(2, "2026-06-01T03:59:59Z") == "false")
        #expect(try await of(2, "2026-06-01T04:00:00Z") == "true")
    }

    @Test func `each obstacle has its word, and the error has the same`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            UPDATE people.people SET birth_date = NULL WHERE id = 2;
            UPDATE people.people SET birth_date = current_date - 3650 WHERE id = 3;
            UPDATE people.people SET blocked_at = now() WHERE id = 4
            """)
        #expect(
            try await ground.texts(
                "SELECT people.obstacle(id) FROM generate_series(1, 5) AS id")
                == ["none", "no_birth_date", "under_age", "blocked", "unknown_person"])
        let refusal = { (id: Int) in
            try await ground.refusal("SELECT people.expect_of_age(\(id))")
        }
        #expect(try await refusal(1) == "none")
        #expect(try await refusal(2) == "RU001 no_birth_date")
        #expect(try await refusal(3) == "RU001 under_age")
        #expect(try await refusal(4) == "RU001 blocked")
        #expect(try await refusal(5) == "23503")
    }

    @Test func `a birth date in the future or before 1900 is no birth date`() async throws {
        let ground = try await PeopleGround()
        for day in ["2999-01-01", "1899-12-31", "0001-01-01"] {
            #expect(
                try await ground.refusal(
                    "SELECT people.put_person(1, '{\"birth_date\": \"\(day)\"}')") == "22023")
        }
    }
}

@Suite("Ids of people", .database) struct PersonIDTests {
    // 0 is the company's number in the ledger.
    @Test(arguments: [0, -1]) func `start at 1`(id: Int) async throws {
        let ground = try await PeopleGround()
        #expect(try await ground.refusal("SELECT people.put_person(\(id))") == "22023")
        let known = "SELECT count(*)::text FROM people.people WHERE id < 1"
        #expect(try await ground.text(known) == "0")
    }
}

/// What the modules are told of facts that cannot be.
@Suite("Days and times that do not exist", .database) struct ImpossibleFactTests {
    // "`put_person` prints a malformed birth date"
    @Test(arguments: [
        ("birth_date", "1990-02-30"), ("birth_date", "1990-13-01"), ("birth_date", "0000-01-01"),
        ("muted_until", "2026-02-30T10:00:00Z"), ("age_verified_at", "2026-01-01T24:30:00Z"),
        ("location_consent_at", "2026-01-01T10:00:00+99:99"),
    ])
    func `are refused by the fact's name, without the value`(
        fact: String, value: String
    ) async throws {
        let ground = try await PeopleGround()
        let call = "SELECT people.put_person(1, '{\"\(fact)\": \"\(value)\"}')"
        let error = await #expect(throws: PostgresError.self) {
            _ = try await ground.session.query(call)
        }
        guard case .server(let server) = error else { return }
        #expect(server.sqlState == "22023")
        #expect(server.message.contains(fact))
        #expect(!"\(server)".contains(value))
    }
}

/// What happens when somebody turns out to be younger than 16.
@Suite("Who turns out to be under 16", .database) struct UnderAgeTests {
    private func put(_ person: Int, _ day: String, _ ground: PeopleGround) async throws -> String {
        try await ground.refusal(
            "SELECT people.put_person(\(person), '{\"birth_date\": \"\(day)\"}')")
    }

    @Test func `is blocked at once, and erased after 30 days unless an operator objects`()
        async throws
    {
        let ground = try await PeopleGround()
        #expect(try await put(1, "2016-01-01", ground) == "none")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "under_age")
        // What is open in the modules was withdrawn.
        #expect(
            try await ground.number(
                "SELECT count(*) FROM toy.things WHERE person_id = 1 AND is_open") == 0)
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', state, cause, due_at - requested_at, starts_at - requested_at)
                FROM people.erasures WHERE person_id = 1
                """) == "requested under_age 30 days 27 days")
        // The person cannot change it, and nothing is deleted before its time.
        #expect(try await put(1, "1990-01-01", ground) == "RU001 under_age")
        try await ground.work()
        #expect(
            try await ground.number("SELECT count(*) FROM toy.things WHERE person_id = 1") == 10)
        // An operator objects.
        #expect(
            try await ground.text("SELECT people.keep(1, 'ann', 'typing error')") == "requested")
        #expect(try await put(1, "1990-01-01", ground) == "none")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "none")
    }

    @Test func `is erased when the time is over`() async throws {
        let ground = try await PeopleGround()
        _ = try await put(1, "2016-01-01", ground)
        try await ground.run(
            """
            UPDATE people.erasures SET starts_at = now() - interval '1 s';
            UPDATE errand.jobs SET run_at = now()
            """)
        try await ground.work()
        #expect(try await ground.text("SELECT state FROM people.erasure_of(1)") == "finished")
        #expect(try await ground.number("SELECT count(*) FROM toy.things WHERE person_id = 1") == 0)
    }

    @Test func `is kept when the 16th birthday comes first`() async throws {
        let ground = try await PeopleGround()
        let day = try await ground.text(
            "SELECT (current_date - interval '16 years' + interval '5 days')::date::text")
        _ = try await put(1, day, ground)
        try await ground.run(
            """
            UPDATE people.people SET birth_date = birth_date - 20 WHERE id = 1;
            UPDATE people.erasures SET starts_at = now() - interval '1 s';
            UPDATE errand.jobs SET run_at = now()
            """)
        try await ground.work()
        #expect(try await ground.text("SELECT state FROM people.erasure_of(1)") == "kept")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "none")
    }

    @Test func `is blocked when registering, too`() async throws {
        let ground = try await PeopleGround()
        #expect(try await put(9, "2016-01-01", ground) == "none")
        #expect(try await ground.text("SELECT people.obstacle(9)") == "under_age")
    }

    @Test func `can ask to be erased without waiting for objections`() async throws {
        let ground = try await PeopleGround()
        _ = try await put(1, "2016-01-01", ground)
        #expect(try await ground.request(1) == "requested")
        try await ground.work()
        #expect(try await ground.text("SELECT state FROM people.erasure_of(1)") == "finished")
    }

    // "A request for erasure is dropped when an erasure \"under_age\" is open"
    @Test(arguments: [
        ("SELECT state FROM people.request_erasure(1, 'r1', 'asked')", "request"),
        ("SELECT (people.open_erasure(1, 'operator', 'a letter')).state", "operator"),
        ("SELECT people.suppress('{1}', ARRAY[now()])::text", "suppression"),
    ])
    func `is erased when asked for, being 16 by then or not`(
        request: String, cause: String
    ) async throws {
        let ground = try await PeopleGround()
        _ = try await put(1, "2016-01-01", ground)
        try await ground.run(
            """
            UPDATE people.people SET birth_date = '2000-01-01' WHERE id = 1;
            UPDATE people.erasures SET starts_at = now() - interval '1 s'
            """)
        _ = try await ground.text(request)
        #expect(try await ground.text("SELECT cause FROM people.erasures") == cause)
        try await ground.work()
        #expect(try await ground.text("SELECT state FROM people.erasure_of(1)") == "finished")
        #expect(try await ground.number("SELECT count(*) FROM toy.things WHERE person_id = 1") == 0)
    }

    @Test func `is told again that an operator stopped their own request`() async throws {
        let ground = try await PeopleGround()
        _ = try await put(1, "2016-01-01", ground)
        #expect(try await ground.request(1) == "requested")
        #expect(try await ground.text("SELECT people.keep(1, 'ann', 'no')") == "requested")
        #expect(try await ground.request(1) == "kept")
        #expect(try await ground.number("SELECT count(*) FROM people.erasures") == 1)
    }
}
