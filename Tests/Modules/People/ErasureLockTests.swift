import ErrandTestServices
import Testing

// "Lock order of erasures and persons"
@Suite("Erasures and what happens at the same time", .database) struct ErasureLockTests {
    private static let lock = "SELECT FROM people.people WHERE id = 1 FOR NO KEY UPDATE"
    private static let keep = "SELECT people.keep(1, 'ann', 'born 1996')"

    @Test func `an objection and the first step wait for each other`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            SELECT people.put_person(1, '{"birth_date": "2016-01-01"}');
            UPDATE people.people SET birth_date = '1996-01-01' WHERE id = 1;
            UPDATE people.erasures SET starts_at = now() - interval '1 s'
            """)
        let result = try await ground.concurrently(
            Self.lock, "SELECT people.erase_step(1)", then: Self.keep)
        #expect(result.last == "requested")
        #expect(result.waiting == "null")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "none")
    }

    @Test func `an objection and the end wait for each other`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        for _ in 1...3 { _ = try await ground.text("SELECT people.erase_step(1)") }
        let result = try await ground.concurrently(
            Self.lock, "SELECT people.end_erasure(1)::text", then: Self.keep)
        #expect(result.last == "running")
        #expect(result.waiting.isEmpty)
        #expect(try await ground.text("SELECT state FROM people.erasure_of(1)") == "finished")
    }

    // "A withdrawal of a consent is lost, or deadlocks"
    @Test func `a withdrawal ends the version that is given meanwhile, too`() async throws {
        let ground = try await PeopleGround()
        for what in ["marketing", "location"] {
            _ = try await ground.text("SELECT people.record_consent(1, '\(what)', '1')::text")
            let result = try await ground.concurrently(
                "SELECT people.record_consent(1, '\(what)', '2')",
                "SELECT (people.withdraw_consent(1, '\(what)') IS NOT NULL)::text")
            #expect(result.waiting == "true")
        }
        #expect(
            try await ground.number(
                "SELECT count(*) FROM people.consents_of(1) WHERE is_in_force") == 0)
        #expect(
            try await ground.number("SELECT count(location_consent_at) FROM people.people") == 0)
    }

    @Test func `a withdrawal and a consent wait for each other`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.text("SELECT people.record_consent(1, 'location', '1')::text")
        let result = try await ground.concurrently(
            Self.lock, "SELECT (people.withdraw_consent(1, 'location') IS NOT NULL)::text",
            then: "SELECT (people.record_consent(1, 'location', '2') IS NOT NULL)::text")
        #expect(result.last == "true")
        #expect(result.waiting == "true")
    }

    @Test func `no consent is recorded behind a request for erasure`() async throws {
        let ground = try await PeopleGround()
        let result = try await ground.concurrently(
            "SELECT people.request_erasure(1, 'r1')",
            "SELECT people.record_consent(1, 'terms', '1')::text")
        #expect(result.waiting == "RU001 blocked")
        #expect(try await ground.number("SELECT count(*) FROM people.consents") == 0)
    }
}
