import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

/// A connection that breaks gives nobody another's answer, and the session comes back.
@Suite("Broken connections", .database) struct BreakTests {
    private static let backend = "SELECT pg_backend_pid()"

    /// Ends a server process from another session, once it runs a statement like `sql`.
    private static func kill(_ process: Int32, running sql: String) async throws {
        let killer = try TestDatabase.here().session("killer")
        try await eventually("the statement runs") {
            try await killer.query(
                """
                SELECT 1 FROM pg_stat_activity
                WHERE pid = $1 AND state <> 'idle' AND query LIKE $2
                """, [.int32(process), .text(sql)]
            ).count == 1
        }
        _ = try await killer.query("SELECT pg_terminate_backend($1)", [.int32(process)])
    }

    private static func process(_ session: Session) async throws -> Int32 {
        try await session.query(backend)[0].int32(0)
    }

    @Test func `killed in the middle of a query, the session connects anew`() async throws {
        let session = try TestDatabase.here().session()
        let process = try await Self.process(session)
        async let error = failure { _ = try await session.query("SELECT pg_sleep(60)") }
        try await Self.kill(process, running: "SELECT pg_sleep%")
        #expect(await error?.isUnreachable == true)
        #expect(try await Self.process(session) != process)
    }

    @Test func `killed in the middle of a pipeline, nothing of it stands`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int)")
        let process = try await Self.process(session)
        async let error = failure {
            _ = try await session.pipeline([
                Statement("INSERT INTO t VALUES (1)"), Statement("SELECT pg_sleep(60)"),
                Statement("INSERT INTO t VALUES (2)"),
            ])
        }
        try await Self.kill(process, running: "SELECT pg_sleep%")
        #expect(await error?.isUnreachable == true)
        #expect(try await session.query("SELECT count(*) FROM t")[0].int64(0) == 0)
    }

    @Test func `killed in the middle of a script, it says so`() async throws {
        let session = try TestDatabase.here().session()
        let process = try await Self.process(session)
        async let error = failure { try await session.script("SELECT 1; SELECT pg_sleep(60)") }
        try await Self.kill(process, running: "SELECT 1; SELECT pg_sleep%")
        #expect(await error?.isUnreachable == true)
        #expect(try await Self.process(session) != process)
    }

    @Test func `killed in the middle of a COPY, nothing of it stands`() async throws {
        let database = try TestDatabase.here()
        let session = database.session()
        try await session.script("CREATE TABLE t (a int)")
        let process = try await Self.process(session)
        let isKilled = Mutex(false)
        async let error = failure {
            _ = try await session.copyIn("COPY t FROM STDIN") {
                // Sends on and on, so that the break is met while sending.
                isKilled.withLock { _ in Array("1\n".utf8) }
            }
        }
        try await Self.kill(process, running: "COPY t%")
        #expect(await error?.isUnreachable == true)
        #expect(try await session.query("SELECT count(*) FROM t")[0].int64(0) == 0)
    }

    @Test func `killed inside a transaction, the rest of it is not run on a new connection`()
        async throws
    {
        let database = try TestDatabase.here()
        try await database.session().script("CREATE TABLE t (a int)")
        let pool = database.pool(1)
        let error = await failure {
            try await pool.transaction { transaction in
                let process = try await transaction.query(Self.backend)[0].int32(0)
                try await transaction.query("INSERT INTO t VALUES (1)")
                _ = try await database.session().query(
                    "SELECT pg_terminate_backend($1, 10000)", [.int32(process)])
                for _ in 0..<2 {
                    let lost = await failure {
                        try await transaction.query("INSERT INTO t VALUES (2)")
                    }
                    #expect(lost?.isUnreachable == true)
                }
            }
        }
        #expect(error?.isUnreachable == true, "a swallowed break does not count as committed")
        let count = try await pool.withSession {
            try await $0.query("SELECT count(*) FROM t")[0].int64(0)
        }
        #expect(count == 0)
        await pool.close()
    }

    @Test func `killed inside a transaction begun by hand, the next call says so once`()
        async throws
    {
        let database = try TestDatabase.here()
        let session = database.session()
        try await session.script("BEGIN")
        let process = try await Self.process(session)
        _ = try await database.session().query(
            "SELECT pg_terminate_backend($1, 10000)", [.int32(process)])
        let error = await failure { _ = try await session.query("SELECT 1") }
        #expect(error?.isUnreachable == true)
        #expect(try await Self.process(session) != process)
    }

    @Test func `killed while idle, the next call does not notice`() async throws {
        let database = try TestDatabase.here()
        let session = database.session()
        let process = try await Self.process(session)
        _ = try await database.session().query(
            "SELECT pg_terminate_backend($1, 10000)", [.int32(process)])
        #expect(try await Self.process(session) != process)
    }

    @Test func `a server silent for too long is given up, and gives up the statement itself`()
        async throws
    {
        let database = try TestDatabase.here()
        var settings = SessionSettings(database.url, name: "silent")
        settings.clientCheckInterval = .milliseconds(50)
        settings.timeLimit = .milliseconds(300)
        let session = Session(settings)
        let process = try await Self.process(session)
        let error = await failure { _ = try await session.query("SELECT pg_sleep(600)") }
        #expect(error?.isUnreachable == true)
        #expect(try await Self.process(session) != process)
        let other = database.session()
        try await eventually("the abandoned server process ends") {
            try await other.query(
                "SELECT 1 FROM pg_stat_activity WHERE pid = $1", [.int32(process)]
            ).isEmpty
        }
    }

    @Test func `another thread cancels what is under way, and the session goes on`() async throws {
        let database = try TestDatabase.here()
        let session = database.session()
        let process = try await Self.process(session)
        async let error = failure { _ = try await session.query("SELECT pg_sleep(60)") }
        let other = database.session()
        try await eventually("the statement runs") {
            try await other.query(
                """
                SELECT 1 FROM pg_stat_activity
                WHERE pid = $1 AND state = 'active' AND query LIKE 'SELECT pg_sleep%'
                """, [.int32(process)]
            ).count == 1
        }
        session.cancelCurrent()
        #expect(await error?.sqlState == "57014")
        #expect(try await Self.process(session) == process)
    }

    @Test func `cut off in the middle of an answer, no half of it is taken for a whole`()
        async throws
    {
        let server = try ServerSocket()
        let relay = try Relay(to: server.path)
        let session = Session(
            SessionSettings(
                "host=127.0.0.1 port=\(relay.port) user=errand dbname=\(server.database) "
                    + "sslmode=disable gssencmode=disable",
                name: "cut"))
        let process = try await Self.process(session)
        relay.cut(after: 100_000)
        let error = await failure {
            _ = try await session.query("SELECT n FROM generate_series(1::int8, 1000000) AS n")
        }
        #expect(error?.isUnreachable == true)
        relay.cut(after: nil)
        #expect(try await Self.process(session) != process)
    }
}
