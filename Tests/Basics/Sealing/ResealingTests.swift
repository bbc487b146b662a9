import ErrandCrypto
import ErrandPostgres
import ErrandSealing
import ErrandTestServices
import Testing

@Suite("Sealing anew", .database)
struct ResealingTests {
    private static let epochs = SealedColumn(
        "test.epochs", "secret", key: [.init("establishment", "bigint"), .init("day", "date")],
        context: "'test.epochs/' || establishment || '/' || day")
    private static let hooks = SealedColumn(
        "test.hooks", "previous", key: [.init("id", "uuid")], context: "id")

    private static func key(_ id: String) throws -> SealingKey {
        try SealingKey(id: id, secret: .random(32))
    }

    /// The tables, with so many epochs of two a day; each holds its own place.
    private func tables(_ count: Int, sealedBy keys: SealingKeys) async throws -> Session {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            CREATE SCHEMA test;
            CREATE TABLE test.epochs (establishment bigint, day date, secret bytea,
                changes int NOT NULL DEFAULT 0, PRIMARY KEY (establishment, day));
            CREATE TABLE test.hooks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
                previous bytea);
            INSERT INTO test.hooks (previous) VALUES (NULL);
            INSERT INTO test.epochs
            SELECT n / 2, date '2026-11-01' + n % 2 FROM generate_series(1, \(count)) AS n
            """)
        let rows = try await session.query(
            """
            SELECT establishment, day::text AS day,
                'test.epochs/' || establishment || '/' || day AS context FROM test.epochs
            """)
        var writes: [Statement] = []
        for row in rows {
            let context = try row.text("context")
            let sealed = try keys.seal(SecretBytes(Array(context.utf8)), context: context)
            writes.append(
                Statement(
                    """
                    UPDATE test.epochs SET secret = $1
                    WHERE establishment = $2 AND day = $3::text::date
                    """,
                    [
                        .bytes(sealed), .int64(try row.int64("establishment")),
                        .text(try row.text("day")),
                    ]))
        }
        _ = try await session.pipeline(writes)
        return session
    }

    /// Checks that each epoch opens in its place, and holds its place unless it was changed.
    private func check(_ session: Session, _ keys: SealingKeys) async throws {
        let rows = try await session.query(
            """
            SELECT 'test.epochs/' || establishment || '/' || day AS context, secret, changes
            FROM test.epochs
            """)
        for row in rows {
            let context = try row.text("context")
            let opened = try keys.open(row.bytes("secret"), context: context)
            let expected = try row.int32("changes") == 0 ? Array(context.utf8) : [7]
            #expect(opened == SecretBytes(expected))
        }
    }

    @Test func `everything is counted by key, sealed anew, and opens in its place`() async throws {
        let (old, new) = (try Self.key("old"), try Self.key("2026-b"))
        let session = try await tables(1_001, sealedBy: SealingKeys(current: old))
        let keys = try SealingKeys(current: new, older: [old])
        let resealing = Resealing(session: session)
        let columns = [Self.epochs, Self.hooks]
        #expect(
            try await resealing.counts(of: columns)
                == [SealedCount(column: "test.epochs.secret", key: "old", count: 1_001)])
        let note = Statement("CREATE TABLE test.noted ()")
        let result = try await resealing.reseal(Self.epochs, with: keys, note: note)
        #expect(result == Resealed(done: 1_001))
        #expect(
            try await resealing.counts(of: columns)
                == [SealedCount(column: "test.epochs.secret", key: "2026-b", count: 1_001)])
        try await check(session, SealingKeys(current: new))
        // Nothing is left to do, and the note would fail a second time.
        let again = try await resealing.reseal(Self.epochs, with: keys, note: note)
        #expect(again == Resealed())
        #expect(try await resealing.reseal(Self.hooks, with: keys, note: nil) == Resealed())
        await session.close()
    }

    @Test func `what cannot be opened is left, and does not hold up the rest`() async throws {
        let (old, gone, new) = (try Self.key("old"), try Self.key("gone"), try Self.key("new"))
        let session = try await tables(450, sealedBy: SealingKeys(current: old))
        let lost = try SealingKeys(current: gone).seal(SecretBytes([1]), context: "c")
        let moved = try SealingKeys(current: old).seal(SecretBytes([1]), context: "elsewhere")
        for (value, condition) in [
            (lost, "establishment < 150"), (moved, "establishment = 160"),
            ([UInt8](), "establishment = 161"), ([1, 200, 65], "establishment = 162"),
        ] {
            _ = try await session.query(
                "UPDATE test.epochs SET secret = $1 WHERE \(condition)", [.bytes(value)])
        }
        let keys = try SealingKeys(current: new, older: [old])
        let result = try await Resealing(session: session).reseal(
            Self.epochs, with: keys, note: nil)
        #expect(result.done == 450 - 299 - 6)
        #expect(result.damagedCount == 6)
        #expect(result.damaged.count == 5 && result.damaged.first == "160, 2026-11-01")
        let counts = try await Resealing(session: session).counts(of: [Self.epochs])
        #expect(counts.first { $0.key == "gone" }?.count == 299)
        #expect(counts.first { $0.key == nil }?.count == 2)
        #expect(counts.first { $0.key == "old" }?.count == 2)
        await session.close()
    }

    @Test func `what others change meanwhile keeps their change`() async throws {
        let (old, new) = (try Self.key("old"), try Self.key("new"))
        let before = try SealingKeys(current: old)
        let session = try await tables(600, sealedBy: before)
        let keys = try SealingKeys(current: new, older: [old])
        let other = try TestDatabase.here().session()
        // Workers that have not heard of the new key write all the while, also what is read.
        async let writer: Void = {
            for round in 0..<400 {
                let place = Int64(round * 37 % 300) + (round.isMultiple(of: 2) ? 1 : 0)
                let context = "test.epochs/\(place)/2026-11-01"
                let sealed = try before.seal(SecretBytes([7]), context: context)
                _ = try await other.query(
                    """
                    UPDATE test.epochs SET secret = $1, changes = changes + 1
                    WHERE establishment = $2 AND day = '2026-11-01'
                    """, [.bytes(sealed), .int64(place)])
            }
        }()
        for _ in 0..<10 {
            _ = try await Resealing(session: session).reseal(Self.epochs, with: keys, note: nil)
        }
        try await writer
        try await check(session, keys)
        // After the last of them one more run leaves nothing.
        _ = try await Resealing(session: session).reseal(Self.epochs, with: keys, note: nil)
        try await check(session, SealingKeys(current: new))
        #expect(try await session.query("SELECT sum(changes) FROM test.epochs").int64(0, 0) > 100)
        await session.close()
        await other.close()
    }

    @Test func `a row that changes between reading and writing is read again`() async throws {
        let (old, new) = (try Self.key("old"), try Self.key("new"))
        let session = try await tables(3, sealedBy: SealingKeys(current: old))
        let keys = try SealingKeys(current: new, older: [old])
        let meanwhile = try SealingKeys(current: old).seal(
            SecretBytes([7]), context: "test.epochs/1/2026-11-01")
        let other = try TestDatabase.here().session()
        let blocked = try TestDatabase.here().session("blocked")
        try await other.script("BEGIN")
        _ = try await other.query(
            """
            UPDATE test.epochs SET secret = $1, changes = 1
            WHERE establishment = 1 AND day = '2026-11-01'
            """, [.bytes(meanwhile)])
        async let result = Resealing(session: blocked).reseal(Self.epochs, with: keys, note: nil)
        try await eventually("the writing to wait for the row") {
            try await session.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'blocked'
                    AND wait_event_type = 'Lock'
                """
            ).int64(0, 0) == 1
        }
        try await other.script("COMMIT")
        #expect(try await result == Resealed(done: 3))
        try await check(session, SealingKeys(current: new))
        for session in [session, other, blocked] { await session.close() }
    }

    @Test func `killed half-way it goes on where it was`() async throws {
        let (old, new) = (try Self.key("old"), try Self.key("new"))
        let session = try await tables(1_000, sealedBy: SealingKeys(current: old))
        let keys = try SealingKeys(current: new, older: [old])
        let victim = try TestDatabase.here().session("victim")
        let killer = try TestDatabase.here().session()
        await #expect(throws: (any Error).self) {
            // Its connection goes while the third batch is under way.
            try await session.script(
                """
                CREATE SEQUENCE test.writes;
                CREATE FUNCTION test.kill() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('test.writes') = 450 THEN
                        PERFORM pg_terminate_backend(pg_backend_pid());
                    END IF;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER kill BEFORE UPDATE ON test.epochs
                FOR EACH ROW EXECUTE FUNCTION test.kill()
                """)
            _ = try await Resealing(session: victim).reseal(Self.epochs, with: keys, note: nil)
        }
        let half = try await Resealing(session: killer).counts(of: [Self.epochs])
        #expect(half.map(\.key) == ["new", "old"] && half.map(\.count) == [400, 600])
        try await check(session, keys)
        let rest = try await Resealing(session: session).reseal(
            Self.epochs, with: keys, note: nil)
        #expect(rest.done == 600)
        try await check(session, SealingKeys(current: new))
        for session in [session, victim, killer] { await session.close() }
    }
}
