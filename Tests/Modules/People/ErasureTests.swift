import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Erasures", .database) struct ErasureTests {
    // "Nobody can be erased as a whole; only `votes.erase`".
    @Test func `one request blocks at once, erases everywhere and ends with a certificate`()
        async throws
    {
        let ground = try await PeopleGround()
        _ = try await ground.text("SELECT people.record_consent(1, 'terms', '1')::text")
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', state, due_at - requested_at, finished_at)
                FROM people.request_erasure(1, 'r1', 'moves away')
                """) == "requested 30 days")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "blocked")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM toy.things WHERE person_id = 1 AND is_open") == 0)
        try await ground.work()
        #expect(try await ground.request(1) == "finished")
        #expect(
            try await ground.counts(1) == [
                "people.consents deleted: 1", "people.exports deleted: 0",
                "people.people anonymized: 1", "toy.entries kept: 2 (bookkeeping)",
                "toy.things deleted: 10",
            ])
        // The row keeps the id and the times of the erasure alone.
        #expect(
            try await ground.text(
                """
                SELECT (to_jsonb(p) - ARRAY['id', 'created_at', 'blocked_at', 'erased_at',
                    'last_seen_at', 'unsubscribe_token'] = to_jsonb(q) - ARRAY['id', 'created_at',
                    'blocked_at', 'erased_at', 'last_seen_at', 'unsubscribe_token']
                    AND p.erased_at IS NOT NULL)::text
                FROM people.people p, jsonb_populate_record(NULL::people.people, '{
                    "time_zone": "UTC", "notice_time": "10:00", "quiet_from": "22:00",
                    "quiet_until": "07:00", "email_bounces": []}') AS q WHERE p.id = 1
                """) == "true")
        #expect(try await ground.number("SELECT count(reason) FROM people.erasures") == 0)
        // Others are as they were.
        #expect(try await ground.number("SELECT count(*) FROM toy.things WHERE is_open") == 10)
        #expect(try await ground.text("SELECT people.obstacle(2)") == "none")
    }

    @Test func `a repeated request answers the same, whatever its id`() async throws {
        let ground = try await PeopleGround()
        let request = "SELECT requested_at::text FROM people.request_erasure"
        let first = try await ground.text("\(request)(1, 'r1')")
        #expect(try await ground.text("\(request)(1, 'r1')") == first)
        #expect(try await ground.text("\(request)(1, 'r2')") == first)
        #expect(try await ground.refusal("\(request)(2, 'r1')").hasPrefix("23505"))
        #expect(try await ground.refusal("\(request)(99, 'r9')").hasPrefix("23503"))
        #expect(try await ground.refusal("\(request)(1, '')") == "22023")
        try await ground.work()
        #expect(try await ground.text("\(request)(1, 'r3')") == first)
        #expect(try await ground.number("SELECT count(*) FROM people.erasures") == 1)
        #expect(try await ground.number("SELECT count(*) FROM people.certificates") == 1)
    }

    @Test func `an erased person cannot come back`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        let put = "SELECT people.put_person(1, '{\"email\": \"a@example.org\"}')"
        #expect(try await ground.refusal(put) == "RU001 blocked")
        try await ground.work()
        #expect(try await ground.refusal(put) == "RU001 erased")
        #expect(
            try await ground.refusal("SELECT people.record_consent(1, 'terms', '1')")
                == "RU001 erased")
        #expect(try await ground.text("SELECT people.put_person(1)::text") == "false")
        #expect(try await ground.text("SELECT people.facts_of(1)::text") == "null")
    }

    @Test func `the steps are counted once, wherever one is cut off`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        let step = "SELECT people.erase_step(1)"
        #expect(try await ground.text(step) == "block")
        // A step that is rolled back has neither deleted nor counted.
        try await ground.run("BEGIN; \(step); ROLLBACK")
        #expect(try await ground.number("SELECT count(*) FROM people.erasure_counts") == 0)
        #expect(
            try await ground.number("SELECT count(*) FROM toy.things WHERE person_id = 1") == 10)
        #expect(try await ground.text(step) == "toy")
        #expect(try await ground.text(step) == "null")
        #expect(try await ground.text(step) == "null")
        // "erase_step goes on for an erasure that does not exist"
        #expect(try await ground.text("SELECT people.erase_step(99)") == "null")
        try await ground.work()
        #expect(try await ground.counts(1).last == "toy.things deleted: 10")
    }

    @Test func `a module that fails is named without a text, and tried again`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            CREATE FUNCTION toy.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'person1@example.org cannot go' USING ERRCODE = 'P0009'; END $$;
            CREATE TRIGGER fail BEFORE DELETE ON toy.things FOR EACH ROW EXECUTE FUNCTION toy.fail()
            """)
        _ = try await ground.request(1)
        try await ground.work()
        #expect(try await ground.text("SELECT failure FROM people.erasures") == "toy P0009")
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE errors::text LIKE '%example.org%'") == 0)
        try await ground.run(
            "DROP TRIGGER fail ON toy.things; UPDATE errand.jobs SET run_at = now()")
        try await ground.work()
        #expect(try await ground.request(1) == "finished")
        #expect(try await ground.text("SELECT failure FROM people.erasures") == "null")
    }

    @Test func `a module whose block fails does not fail the request`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            CREATE OR REPLACE FUNCTION toy.block(person bigint) RETURNS void LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'no'; END $$
            """)
        #expect(try await ground.request(1) == "requested")
        #expect(try await ground.text("SELECT failure FROM people.erasures") == "toy P0001")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "blocked")
    }

    @Test func `an operator stops only what has not started`() async throws {
        let ground = try await PeopleGround()
        let keep = "SELECT people.keep(1, 'ann', 'asked by phone')"
        #expect(try await ground.text(keep) == "null")
        _ = try await ground.request(1)
        #expect(try await ground.text(keep) == "requested")
        #expect(try await ground.text(keep) == "kept")
        #expect(try await ground.text("SELECT people.obstacle(1)") == "none")
        try await ground.work()
        #expect(
            try await ground.number("SELECT count(*) FROM toy.things WHERE person_id = 1") == 10)
        #expect(try await ground.request(1) == "kept")
        // Another request is another erasure.
        #expect(try await ground.request(1, id: "r2") == "requested")
        try await ground.work()
        #expect(try await ground.text(keep) == "finished")
        #expect(try await ground.number("SELECT count(kept_reason) FROM people.erasures") == 0)
    }

    @Test func `a certificate that was changed is not intact`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        try await ground.work()
        let intact = "SELECT is_intact::text FROM people.certificate_of(1)"
        #expect(try await ground.text(intact) == "true")
        for change in [
            "UPDATE people.certificates SET body = replace(body, '10', '11')",
            "UPDATE people.erasure_counts SET rows = rows + 1",
            """
            UPDATE people.certificates SET body = body || 'x',
                sha256 = sha256(convert_to(body || 'x', 'UTF8'))
            """,
        ] {
            #expect(
                try await ground.session.transaction { session in
                    _ = try session.query(change)
                    return try session.query(intact).first?.text(0)
                } == "false", "\(change)")
            try await ground.run("UPDATE people.certificates SET body = body")
            try await ground.run(
                """
                UPDATE people.erasure_counts SET rows = 10 WHERE object = 'toy.things';
                UPDATE people.erasure_counts SET rows = 2 WHERE object = 'toy.entries';
                UPDATE people.erasure_counts SET rows = 0
                WHERE object IN ('people.consents', 'people.exports');
                UPDATE people.erasure_counts SET rows = 1 WHERE object = 'people.people';
                UPDATE people.certificates SET body = people.certificate_body(1),
                    sha256 = sha256(convert_to(people.certificate_body(1), 'UTF8'))
                """)
            #expect(try await ground.text(intact) == "true")
        }
    }

    @Test func `a restored backup is erased again`() async throws {
        let ground = try await PeopleGround()
        let suppress = """
            SELECT id::text FROM people.suppress('{1, 3, 99}', array_fill(now(), '{3}')) AS id
            """
        let forgotten = "SELECT people.count_forgotten('{1, 3, 99}', array_fill(now(), '{3}'))"
        #expect(try await ground.number(forgotten) == 2)
        #expect(try await ground.texts(suppress) == ["1", "3"])
        #expect(try await ground.number(forgotten) == 0)
        try await ground.work()
        #expect(
            try await ground.texts(
                "SELECT cause || ' ' || state FROM people.erasures ORDER BY person_id")
                == ["suppression finished", "suppression finished"])
        #expect(try await ground.texts(suppress) == [])
    }

    // "After a restore, `person suppress` erases new people who got the ids"
    @Test func `whoever has got the id of somebody erased before is left alone`() async throws {
        let ground = try await PeopleGround()
        let times = "ARRAY[now() - interval '1 day', now()]"
        #expect(
            try await ground.number("SELECT people.count_forgotten('{1, 2}', \(times))") == 1)
        #expect(
            try await ground.texts(
                "SELECT id::text FROM people.suppress('{1, 2}', \(times)) AS id") == ["2"])
        #expect(try await ground.text("SELECT people.obstacle(1)") == "none")
    }
}
