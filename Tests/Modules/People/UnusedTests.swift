import ErrandPeople
import ErrandTestServices
import Testing

@Suite("Unused accounts", .database) struct UnusedAccountTests {
    /// Everybody was last seen 25 months ago, and a toy notifies them.
    private func ground() async throws -> PeopleGround {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            DELETE FROM people.unused_notifiers;
            CREATE TABLE toy.told (person bigint, at timestamptz);
            CREATE FUNCTION toy.tell(person bigint, erased_at timestamptz) RETURNS void
            LANGUAGE sql AS $$ INSERT INTO toy.told VALUES (person, erased_at) $$;
            INSERT INTO people.unused_notifiers VALUES ('toy', 'tell');
            UPDATE people.people SET created_at = now() - interval '3 years',
                last_seen_at = now() - interval '25 months'
            """)
        return ground
    }

    /// An app has reported for long whom it sees, person 1 among them.
    private static let seeing = """
        SELECT people.touch(1);
        INSERT INTO people.seeing (since) VALUES (now() - interval '25 months')
        """
    /// Persons 2, 3 and 4 were warned 31 days ago.
    private static let warned = """
        UPDATE people.people SET unused_warned_at = now() - interval '31 days' WHERE id > 1
        """
    private static let erase = """
        SELECT people.erase_unused(now() - interval '30 days', 500, false)::text
        """

    private func erasures(_ ground: PeopleGround) async throws -> [String] {
        try await ground.texts(
            "SELECT concat_ws(' ', person_id, cause, state) FROM people.erasures ORDER BY person_id"
        )
    }

    @Test func `are warned, and erased 30 days later`() async throws {
        let ground = try await ground()
        try await ground.run(Self.seeing)
        #expect(try await ground.retain().map(\.rows) == [3, 0])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM toy.told
                WHERE at BETWEEN now() + interval '29 days' AND now() + interval '31 days'
                """) == 3)
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        // One of them comes back.
        try await ground.run(
            """
            \(Self.warned);
            SELECT people.touch(2)
            """)
        #expect(try await ground.retain().map(\.rows) == [0, 2])
        // For days an operator can object.
        try await ground.work()
        #expect(try await erasures(ground) == ["3 unused requested", "4 unused requested"])
        try await ground.run(
            """
            UPDATE people.erasures SET starts_at = now() - interval '1 s';
            UPDATE errand.jobs SET run_at = now()
            """)
        try await ground.work()
        #expect(try await erasures(ground) == ["3 unused finished", "4 unused finished"])
        #expect(try await ground.refusal("SELECT people.touch(99)") == "23503")
    }

    // "Unused accounts are erased untold, and adopting `touch` late counts active people as unused"
    @Test func `count from when an app first said whom it sees`() async throws {
        let ground = try await ground()
        // No app says it.
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        #expect(try await ground.number("SELECT count(*) FROM people.seeing") == 0)
        // Since this night: nobody knows who used it in the months before.
        _ = try await ground.text("SELECT people.touch(1)::text")
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        try await ground.run("UPDATE people.seeing SET since = now() - interval '23 months'")
        #expect(
            try await ground.number("SELECT people.run_rule('people.unused', 9, true)") == 0)
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        try await ground.run("UPDATE people.seeing SET since = now() - interval '25 months'")
        #expect(
            try await ground.number("SELECT people.run_rule('people.unused', 9, true)") == 3)
        #expect(try await ground.retain().map(\.rows) == [3, 0])
        // An app that has stopped saying it begins anew.
        try await ground.run("UPDATE people.people SET last_seen_at = now() - interval '8 days'")
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        #expect(try await ground.number("SELECT count(*) FROM people.seeing") == 0)
    }

    // "`people.erase_unused` erases people who have just come back"
    @Test func `are not erased if their people come back meanwhile`() async throws {
        let ground = try await ground()
        try await ground.run("\(Self.seeing); \(Self.warned)")
        let result = try await ground.concurrently("SELECT people.touch(3)", Self.erase)
        #expect(result.waiting == "2")
        #expect(try await erasures(ground) == ["2 unused requested", "4 unused requested"])
        #expect(try await ground.text("SELECT people.obstacle(3)") == "none")
        #expect(try await ground.text(Self.erase) == "0")
    }

    // "A kept \"unused\" person is erased the next night"
    @Test func `that an operator keeps count as used`() async throws {
        let ground = try await ground()
        try await ground.run("\(Self.seeing); \(Self.warned)")
        #expect(try await ground.retain().map(\.rows) == [0, 3])
        #expect(try await ground.text("SELECT people.keep(2, 'ann', 'called')") == "requested")
        #expect(try await ground.retain().map(\.rows) == [0, 0])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM people.people
                WHERE id = 2 AND unused_warned_at IS NULL AND last_seen_at > now() - interval '1 h'
                """) == 1)
    }

    // "One notifier that raises for one person stops the rule for all behind"
    @Test func `whose people cannot be notified stop no others, and are not erased`() async throws {
        let ground = try await ground()
        try await ground.run(
            """
            \(Self.seeing);
            UPDATE people.people SET last_seen_at = last_seen_at - interval '1 day' WHERE id = 2;
            CREATE OR REPLACE FUNCTION toy.tell(person bigint, erased_at timestamptz) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN
                IF person = 2 THEN
                    RAISE EXCEPTION 'person2@example.org is odd' USING ERRCODE = 'P0009';
                END IF;
                INSERT INTO toy.told VALUES (person, erased_at);
            END $$
            """)
        // The first person of each batch fails; the batch after the last has nobody else.
        let results = try await ground.retain(batch: 1)
        #expect(results.map(\.rows) == [2, 0])
        #expect(results.map(\.failure) == ["P0009", nil])
        #expect(
            try await ground.texts("SELECT person::text FROM toy.told ORDER BY 1") == ["3", "4"])
        #expect(
            try await ground.texts(
                "SELECT id::text FROM people.people WHERE unused_warned_at IS NULL ORDER BY 1")
                == ["1", "2"])
    }
}
