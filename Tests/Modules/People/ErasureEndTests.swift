import ErrandTestServices
import Testing

@Suite("Ends of erasures", .database) struct ErasureEndTests {
    /// From now on, a module fails for person 1.
    private static let failing = """
        ALTER FUNCTION toy.erase(bigint) RENAME TO erase_well;
        CREATE FUNCTION toy.erase(person bigint)
        RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
        BEGIN
            IF person = 1 THEN
                RAISE EXCEPTION 'person1@example.org has a payout' USING ERRCODE = 'RU002';
            END IF;
            RETURN QUERY SELECT * FROM toy.erase_well(person);
        END $$
        """

    // "The end of a sweep: one failing person stops all, 200 in one transaction, raw errors"
    @Test func `that fail for one person stop no others, and are tried again`() async throws {
        let ground = try await PeopleGround()
        for person in 1...3 {
            _ = try await ground.request(person, id: "r\(person)")
            for _ in 1...3 { _ = try await ground.text("SELECT people.erase_step(\(person))") }
        }
        try await ground.run(Self.failing)
        try await ground.work()
        let states = "SELECT concat_ws(' ', state, failure) FROM people.erasures ORDER BY person_id"
        #expect(try await ground.texts(states) == ["running end RU002", "finished", "finished"])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM errand.jobs j
                WHERE j.errors IS NOT NULL OR j::text LIKE '%has a payout%'
                """) == 0)
        // Not again and again, but in an hour.
        #expect(try await ground.text("SELECT people.sweep_jobs()::text") == "false")
        try await ground.run(
            """
            DROP FUNCTION toy.erase(bigint);
            ALTER FUNCTION toy.erase_well(bigint) RENAME TO erase;
            UPDATE people.erasures SET failed_at = now() - interval '51 minutes'
            WHERE state = 'running';
            SELECT people.enqueue_sweep()
            """)
        try await ground.work()
        #expect(try await ground.texts(states) == ["finished", "finished", "finished"])
        #expect(try await ground.counts(1).last == "toy.things deleted: 10")
    }

    @Test func `leave no text of an error behind, which may be personal`() async throws {
        let ground = try await PeopleGround()
        _ = try await ground.request(1)
        try await ground.run(
            """
            CREATE FUNCTION toy.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'person1@example.org cannot go' USING ERRCODE = 'P0009'; END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON people.job_sweeps
                FOR EACH ROW EXECUTE FUNCTION toy.fail()
            """)
        try await ground.work()
        let errors = try await ground.text(
            "SELECT errors::text FROM errand.jobs WHERE kind = 'people.sweep'")
        #expect(errors.contains("P0009"))
        #expect(!errors.contains("example.org"))
    }
}
