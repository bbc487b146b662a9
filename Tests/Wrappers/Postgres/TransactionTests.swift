import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Transactions", .database) struct TransactionTests {
    private struct Refusal: Error {}

    private static func table(_ session: Session) async throws {
        try await session.script("CREATE TABLE t (a int UNIQUE)")
    }

    private static func count(_ session: Session) async throws -> Int64 {
        try await session.query("SELECT count(*) FROM t")[0].int64(0)
    }

    @Test func `what its body wrote stands once it has returned`() async throws {
        let session = try TestDatabase.here().session()
        try await Self.table(session)
        let touched = try await session.transaction { session in
            _ = try session.query("INSERT INTO t VALUES (1)")
            return try session.query("INSERT INTO t VALUES (2), (3)").affected
        }
        #expect(touched == 2)
        #expect(try await Self.count(session) == 3)
    }

    @Test func `an error thrown by its body undoes it`() async throws {
        let session = try TestDatabase.here().session()
        try await Self.table(session)
        await #expect(throws: Refusal.self) {
            try await session.transaction { session in
                _ = try session.query("INSERT INTO t VALUES (1)")
                throw Refusal()
            }
        }
        #expect(try await Self.count(session) == 0)
    }

    @Test func `a failed statement cannot be swallowed: nothing is committed, so it throws`()
        async throws
    {
        let session = try TestDatabase.here().session()
        try await Self.table(session)
        let error = await failure {
            try await session.transaction { session in
                _ = try session.query("INSERT INTO t VALUES (1)")
                _ = try? session.query("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.sqlState == "23505", "the error that was swallowed is told")
        #expect(try await Self.count(session) == 0)
    }

    @Test func `nor in a transaction of the pool`() async throws {
        let database = try TestDatabase.here()
        try await Self.table(database.session())
        let pool = database.pool(1)
        let error = await failure {
            try await pool.transaction { transaction in
                try await transaction.query("INSERT INTO t VALUES (1)")
                _ = try? await transaction.query("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.sqlState == "23505")
        #expect(try await pool.withSession { try await Self.count($0) } == 0)
        await pool.close()
    }

    @Test func `a savepoint takes an error back`() async throws {
        let session = try TestDatabase.here().session()
        try await Self.table(session)
        try await session.transaction { session in
            _ = try session.query("INSERT INTO t VALUES (1)")
            _ = try session.query("SAVEPOINT s")
            _ = try? session.query("INSERT INTO t VALUES (1)")
            _ = try session.query("ROLLBACK TO s")
        }
        #expect(try await Self.count(session) == 1)
    }

    @Test func `a constraint checked at COMMIT is reported by its error`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        let error = await failure {
            try await session.transaction { session in
                _ = try session.query("INSERT INTO t VALUES (1), (1)")
            }
        }
        #expect(error?.sqlState == "23505")
        #expect(try await Self.count(session) == 0)
    }

    @Test func `one transaction does not begin inside another`() async throws {
        let session = try TestDatabase.here().session()
        try await Self.table(session)
        let error = await failure {
            try await session.transaction { session in
                _ = try session.query("INSERT INTO t VALUES (1)")
                try session.transaction { session in
                    _ = try session.query("INSERT INTO t VALUES (2)")
                }
            }
        }
        #expect(error?.isUsage == true)
        #expect(try await Self.count(session) == 0)
    }

    @Test func `a pool's transaction commits, rolls back, and is of no use afterwards`()
        async throws
    {
        let database = try TestDatabase.here()
        try await Self.table(database.session())
        let pool = database.pool(2)
        let kept = try await pool.transaction { transaction in
            try await transaction.pipeline([
                Statement("INSERT INTO t VALUES (1)"), Statement("INSERT INTO t VALUES (2)"),
            ])
            return transaction
        }
        await #expect(throws: Refusal.self) {
            try await pool.transaction { transaction in
                try await transaction.query("INSERT INTO t VALUES (3)")
                throw Refusal()
            }
        }
        let late = await failure { try await kept.query("INSERT INTO t VALUES (4)") }
        #expect(late?.isUsage == true)
        #expect(try await pool.withSession { try await Self.count($0) } == 2)
        await pool.close()
    }

    @Test func `a session that comes back with a transaction open does not pass it on`()
        async throws
    {
        let database = try TestDatabase.here()
        try await Self.table(database.session())
        let pool = database.pool(1)
        try await pool.withSession { session in
            try await session.script("BEGIN; INSERT INTO t VALUES (1)")
        }
        try await pool.withSession { session in
            _ = try await session.query("INSERT INTO t VALUES (2)")
        }
        await pool.close()
        let found = try await database.session().query("SELECT a FROM t")
        #expect(try found.map { try $0.int64(0) } == [2])
    }
}
