import ErrandTestServices
import Testing

// "keep version and time of that consent"
@Suite("Consents", .database) struct ConsentTests {
    @Test func `have a version and a time, and past ones stay`() async throws {
        let ground = try await PeopleGround()
        let given = """
            SELECT people.record_consent(1, 'terms', '2026-01', '2026-01-05T10:00:00Z')::text
            """
        let first = try await ground.text(given)
        #expect(first == "2026-01-05 10:00:00+00")
        #expect(
            try await ground.text("SELECT people.record_consent(1, 'terms', '2026-01')::text")
                == first)
        _ = try await ground.text(
            "SELECT people.record_consent(1, 'terms', '2026-02', '2026-02-05T10:00:00Z')::text")
        #expect(
            try await ground.texts(
                """
                SELECT concat_ws(' ', what, version, given_at, replaced_at, is_in_force)
                FROM people.consents_of(1)
                """) == [
                    "terms 2026-01 2026-01-05 10:00:00+00 2026-02-05 10:00:00+00 f",
                    "terms 2026-02 2026-02-05 10:00:00+00 t",
                ])
    }

    @Test func `are withdrawn once, and can be given again`() async throws {
        let ground = try await PeopleGround()
        let withdraw = "SELECT people.withdraw_consent(1, 'marketing')::text"
        #expect(try await ground.text(withdraw) == "null")
        _ = try await ground.text("SELECT people.record_consent(1, 'marketing', '1')::text")
        let first = try await ground.text(withdraw)
        #expect(try await ground.text(withdraw) == first)
        _ = try await ground.text("SELECT people.record_consent(1, 'marketing', '1')::text")
        #expect(
            try await ground.texts("SELECT is_in_force::text FROM people.consents_of(1)")
                == ["false", "true"])
    }

    @Test func `to notices by place are the fact location_consent_at`() async throws {
        let ground = try await PeopleGround()
        let fact = """
            SELECT coalesce(location_consent_at::text, 'none') FROM people.people WHERE id = 1
            """
        let held = """
            SELECT version || ' ' || given_at FROM people.consents_of(1) WHERE is_in_force
            """
        _ = try await ground.text(
            "SELECT people.record_consent(1, 'location', '7', '2026-01-05T10:00:00Z')::text")
        #expect(try await ground.text(fact) == "2026-01-05 10:00:00+00")
        #expect(try await ground.texts(held) == ["7 2026-01-05 10:00:00+00"])
        _ = try await ground.text("SELECT people.withdraw_consent(1, 'location')::text")
        #expect(try await ground.text(fact) == "none")
        _ = try await ground.text(
            """
            SELECT people.put_person(1, '{"location_consent_at": "2026-03-05T10:00:00Z"}')::text
            """)
        #expect(try await ground.texts(held) == ["unversioned 2026-03-05 10:00:00+00"])
        _ = try await ground.text(
            "SELECT people.put_person(1, '{\"location_consent_at\": null}')::text")
        #expect(try await ground.texts(held) == [])
        #expect(try await ground.number("SELECT count(*) FROM people.consents_of(1)") == 2)
    }

    @Test func `are refused in the future, without a version and of nobody`() async throws {
        let ground = try await PeopleGround()
        for call in [
            "record_consent(1, 'terms', '')", "record_consent(1, 'Terms', '1')",
            "record_consent(1, 'terms', '1', now() + interval '1 day')",
        ] {
            #expect(try await ground.refusal("SELECT people.\(call)") == "22023")
        }
        #expect(
            try await ground.refusal("SELECT people.record_consent(99, 'terms', '1')") == "23503")
        #expect(
            try await ground.refusal("SELECT people.withdraw_consent(99, 'terms')") == "23503")
    }

    @Test func `facts are read back as they are put`() async throws {
        let ground = try await PeopleGround()
        let facts = """
            {"email": "ann@example.org", "time_zone": "Europe/Paris", "birth_date": "1991-02-03", \
            "age_verified_at": "2026-01-05T10:00:00Z", "location_consent_at": null, \
            "notice_time": "18:30", "quiet_from": null, "quiet_until": null, \
            "muted_until": "2026-01-05T10:00:00.5Z"}
            """
        _ = try await ground.text("SELECT people.put_person(1, '\(facts)')::text")
        let back = "(people.facts_of(1))"
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', f ->> 'email', f ->> 'time_zone', f ->> 'birth_date',
                    f ->> 'age_verified_at', f ->> 'notice_time', f ->> 'quiet_from',
                    f ->> 'muted_until') FROM (SELECT \(back)) AS x (f)
                """)
                == "ann@example.org Europe/Paris 1991-02-03 2026-01-05T10:00:00Z 18:30:00 "
                + "2026-01-05T10:00:00.500000Z")
        // What was read can be put again, and changes nothing.
        #expect(try await ground.text("SELECT people.put_person(2, \(back))::text") == "false")
        #expect(
            try await ground.text("SELECT (people.facts_of(2) = people.facts_of(1))::text")
                == "true")
        #expect(try await ground.text("SELECT people.facts_of(99)::text") == "null")
    }
}
