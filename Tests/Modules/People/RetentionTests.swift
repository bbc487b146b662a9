import ErrandPeople
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Retention", .database) struct RetentionTests {
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
            try await ground.retain(only: "toy.things", batch: 5).map(\.rows) == [17])
        #expect(try await ground.number("SELECT count(*) FROM toy.things") == 3)
        #expect(
            try await ground.text(
                """
                SELECT concat_ws(' ', rows, total, ended_at >= started_at, failure)
                FROM people.retention_runs WHERE rule = 'toy.things'
                """) == "17 17 t")
        #expect(try await ground.retain().map(\.rows) == [0, 0, 0])
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
        let results = try await ground.retain()
        #expect(
            results.map(\.rule) == [
                "a.bad", "people.unused", "people.unused_warned", "toy.things",
            ])
        #expect(results.map(\.failure) == ["42883", nil, nil, nil])
        #expect(
            try await ground.texts("SELECT rule FROM people.retention_runs WHERE failure = '42883'")
                == ["a.bad"])
    }

    // "Workers can run any rule of retention for any time"
    @Test func `nobody deletes what is not old enough yet`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            \(Self.rule);
            UPDATE toy.things SET at = now() - interval '91 days' WHERE id = 1
            """)
        let (worker, _) = try await TestDatabase.here().login(as: "errand_worker")
        let rows = try await worker.query(
            "SELECT people.run_rule('toy.things', 100, false, 'infinity')")
        await worker.close()
        #expect(try rows.int64(0, 0) == 1)
        for rows in ["-1", "0", "1000001", "NULL"] {
            #expect(
                try await ground.refusal("SELECT people.run_rule('toy.things', \(rows))")
                    == "22023")
        }
    }

    @Test func `a rule can have smaller batches`() async throws {
        let ground = try await PeopleGround()
        try await ground.run(
            """
            \(Self.rule);
            UPDATE people.retention_rules SET batch = 3 WHERE name = 'toy.things';
            CREATE TABLE toy.calls (max_rows int);
            CREATE OR REPLACE FUNCTION toy.forget(before timestamptz, max_rows int,
                only_count boolean) RETURNS bigint LANGUAGE sql AS $$
                INSERT INTO toy.calls VALUES (max_rows);
                SELECT CASE count(*) WHEN 1 THEN 3 ELSE 2 END FROM toy.calls
            $$
            """)
        #expect(try await ground.retain(only: "toy.things").map(\.rows) == [5])
        #expect(try await ground.texts("SELECT max_rows::text FROM toy.calls") == ["3", "3"])
    }
}
