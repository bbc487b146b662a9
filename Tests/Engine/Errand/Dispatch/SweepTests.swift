import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Sweeps", .database) struct SweepTests {
    /// Two things of which so many are due, each in a table of how it was called.
    private func ground(_ first: Int, _ second: Int) async throws -> TestDatabase {
        let database = try TestDatabase.here()
        try await database.session().script(
            """
            CREATE SCHEMA swept;
            CREATE TABLE swept.calls (id bigint GENERATED ALWAYS AS IDENTITY, name text);
            CREATE TABLE swept.due (name text, left_over int);
            INSERT INTO swept.due VALUES ('notes', \(first)), ('late', \(second));
            CREATE FUNCTION swept.one(name text, max_rows int) RETURNS bigint LANGUAGE plpgsql AS $$
            DECLARE
                count int;
            BEGIN
                INSERT INTO swept.calls (name) VALUES (one.name);
                SELECT CASE WHEN d.left_over >= 0 THEN least(d.left_over, max_rows) END INTO count
                FROM swept.due d WHERE d.name = one.name;
                IF count IS NULL THEN
                    RAISE EXCEPTION '% fails', one.name;
                END IF;
                UPDATE swept.due d SET left_over = left_over - count WHERE d.name = one.name;
                RETURN count;
            END $$;
            CREATE FUNCTION swept.notes(timestamptz, n int) RETURNS bigint
            LANGUAGE sql RETURN swept.one('notes', n);
            CREATE FUNCTION swept.late(timestamptz, n int) RETURNS bigint
            LANGUAGE sql RETURN swept.one('late', n)
            """)
        return database
    }

    private let sweep = Sweep(
        "swept", [.init("notes", batch: 10), .init("late", batch: 5)])

    private func calls(_ database: TestDatabase) async throws -> String {
        try await database.session().query(
            "SELECT string_agg(name, ' ' ORDER BY id) FROM swept.calls"
        )
        .text(0, 0)
    }

    @Test func `one batch of each in turn, until nothing is left of any`() async throws {
        let database = try await ground(15, 12)
        #expect(
            try await sweep.run(in: database.pool(), now: .now()) == ["notes": 15, "late": 12])
        #expect(try await calls(database) == "notes late notes late notes late late")
        #expect(try await sweep.run(in: database.pool(), now: .now()) == [:])
    }

    @Test func `one that fails does not stop the others, and is told at the end`() async throws {
        let database = try await ground(15, 12)
        try await database.session().script(
            "UPDATE swept.due SET left_over = -1 WHERE name = 'notes'")
        await #expect(throws: PostgresError.self) {
            _ = try await sweep.run(in: database.pool(), now: .now())
        }
        #expect(try await calls(database) == "late late late late")
    }

    @Test func `a run whose time is over leaves the rest to the next`() async throws {
        let database = try await ground(15, 12)
        #expect(
            try await sweep.run(in: database.pool(), now: .now(), for: .zero) == [:])
        #expect(
            try await sweep.run(in: database.pool(), now: .now(), for: .seconds(60))
                == ["notes": 15, "late": 12])
    }
}
