import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Who objects to a transfer", .database) struct LeavingOutTests {
    private func session() async throws -> Session {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            DELETE FROM people.holders;
            SELECT people.put_person(id, '{"email": "p@example.org", "birth_date": "1990-01-01"}')
            FROM generate_series(1, 3) AS id;
            SELECT custody.object(1, 'ann')
            """)
        return session
    }

    // "an objector of that kind is **exported to the buyer** and still counted in `left_out`"
    @Test func `is erased for it, being under 16 when it was noticed or not`() async throws {
        let session = try await session()
        try await session.script(
            """
            SELECT people.put_person(1, '{"birth_date": "2016-01-01"}');
            UPDATE people.people SET birth_date = '2000-01-01' WHERE id = 1
            """)
        #expect(try await session.query("SELECT custody.leave_out()").int64(0, 0) == 1)
        #expect(
            try await session.query(
                "SELECT count(*) FROM people.people WHERE erased_at IS NOT NULL AND email IS NULL"
            ).int64(0, 0) == 1)
        await session.close()
    }

    @Test func `is not exported if the erasure fails`() async throws {
        let session = try await session()
        try await session.script(
            """
            CREATE SCHEMA toy;
            CREATE FUNCTION toy.erase(person bigint)
            RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql
            AS $$ BEGIN
                IF EXISTS (SELECT FROM people.erasures WHERE holders_at IS NOT NULL) THEN
                    RAISE EXCEPTION 'p@example.org is needed' USING ERRCODE = 'RU002';
                END IF;
            END $$;
            INSERT INTO people.holders VALUES ('toy', 1, false)
            """)
        let error = await #expect(throws: PostgresError.self) {
            _ = try await session.query("SELECT custody.leave_out()")
        }
        guard case .server(let server) = error else { return }
        #expect(server.sqlState == "RU001" && server.detail == "not_left_out")
        #expect(server.message.contains("end RU002"))
        #expect(!server.message.contains("example.org"))
        await session.close()
    }
}
