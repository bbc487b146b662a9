import ErrandPeople
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Retention", .database) struct RetentionTests {
    private func run(
        _ ground: PeopleGround, only: String? = nil, batch: Int32 = 100
    ) async throws -> [RunRetention.Result] {
        try await RunRetention.apply(
            only: only, in: try TestDatabase.here().pool(), now: .now(), batch: batch)
    }

    private static let rule = """
        INSERT INTO people.retention_rules
        VALUES ('toy.things', 'toy', 'forget', '90 days', 'things')
        """

    @Test func `deletes what is too old, in batches, and notes the run`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            \(Self.rule);
            UPDATE toy.things SET at = now() - interval '91 days' WHERE id <= 17
            """)
        #expect(
            try await ground.number("SELECT people.run_rule('toy.things', only_count => true)")
                == 17)
        #expect(
            try await run(ground, only: "toy.things", batch: 5).map(\.rows) == [17])
        #expect(try await ground.number("SELECT count(*) FROM toy.things") == 3)
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', rows, total, ended_at >= started_at, failure)
                FROM people.retention_runs WHERE rule = 'toy.things'
                """) == "17 17 t")
        #expect(try await run(ground).map(\.rows) == [0, 0, 0])
        #expect(
            try await ground.text(
                "SELECT rows || ' ' || total FROM people.retention_runs WHERE rule = 'toy.things'")
                == "0 17")
    }

    @Test func `a rule that fails does not stop the others`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            \(Self.rule);
            INSERT INTO people.retention_rules VALUES ('a.bad', 'toy', 'missing', '1 day', 'bad')
            """)
        let results = try await run(ground)
        #expect(
            results.map(\.rule) == [
                "a.bad", "people.unused", "people.unused_warned", "toy.things",
            ])
        #expect(results.map(\.failure) == ["42883", nil, nil, nil])
        #expect(
            try await ground.texts("SELECT rule FROM people.retention_runs WHERE failure = '42883'")
                == ["a.bad"])
    }

    @Test func `unused accounts are warned, and erased 30 days later`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            CREATE TABLE toy.told (person bigint, at timestamptz);
            CREATE FUNCTION toy.tell(person bigint, erased_at timestamptz) RETURNS void
            LANGUAGE sql AS $$ INSERT INTO toy.told VALUES (person, erased_at) $$;
            INSERT INTO people.unused_notifiers VALUES ('toy', 'tell');
            UPDATE people.people SET created_at = now() - interval '3 years',
                last_seen_at = now() - interval '25 months'
            """)
        // No app says when it sees people: nobody counts as unused.
        #expect(try await run(ground).map(\.rows) == [0, 0])
        _ = try await ground.text("SELECT people.touch(1)::text")
        #expect(try await run(ground).map(\.rows) == [3, 0])
        #expect(
            try await ground.number(
                """
                SELECT count(*) FROM toy.told
                WHERE at BETWEEN now() + interval '29 days' AND now() + interval '31 days'
                """) == 3)
        #expect(try await run(ground).map(\.rows) == [0, 0])
        // One of them comes back.
        _ = try await ground.text("SELECT people.touch(2)::text")
        try await ground.run(
            """
            UPDATE people.people SET unused_warned_at = now() - interval '31 days'
            WHERE unused_warned_at IS NOT NULL
            """)
        #expect(try await run(ground).map(\.rows) == [0, 2])
        try await ground.work()
        #expect(
            try await ground.texts(
                """
                SELECT person_id || ' ' || cause || ' ' || state FROM people.erasures
                ORDER BY person_id
                """) == ["3 unused finished", "4 unused finished"])
        #expect(try await ground.refusal("SELECT people.touch(99)") == "23503")
    }
}
