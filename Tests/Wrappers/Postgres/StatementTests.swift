import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Statements", .database) struct StatementTests {
    @Test func `one text serves parameters of different types`() async throws {
        let session = try TestDatabase.here().session()
        let sql = "SELECT pg_typeof($1)::text, $1::text"
        #expect(try await session.query(sql, [.int64(5)])[0].text(1) == "5")
        let double = try await session.query(sql, [.double(2.5)])
        #expect(try double[0].text(0) == "double precision")
        #expect(try double[0].text(1) == "2.5")
        #expect(try await session.query(sql, [.text("five")])[0].text(1) == "five")
    }

    @Test func `a null first does not fix the type of what comes later`() async throws {
        let session = try TestDatabase.here().session()
        let sql = "SELECT coalesce($1, 7::bigint)::text"
        #expect(try await session.query(sql, [.null])[0].text(0) == "7")
        #expect(try await session.query(sql, [.int32(-3)])[0].text(0) == "-3")
        #expect(try await session.query(sql, [.null])[0].text(0) == "7")
    }

    @Test func `errors carry SQLSTATE, message and the constraint's name`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (id bigint CONSTRAINT only_once PRIMARY KEY)")
        let insert = Statement("INSERT INTO t VALUES ($1)", [.int64(1)])
        #expect(try await session.query(insert).affected == 1)
        let error = await failure { _ = try await session.query(insert) }
        #expect(error?.sqlState == "23505")
        #expect(error?.isTransient == false)
        guard case .server(let server) = error else {
            Issue.record("expected a server's error, got \(String(describing: error))")
            return
        }
        #expect(server.constraint == "only_once")
        #expect(server.table == "t")
        #expect("\(server)".contains("23505"))
    }

    @Test func `what is put off until the commit fails as any other statement does`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script(
            """
            CREATE TABLE a (id int PRIMARY KEY);
            CREATE TABLE b (a int CONSTRAINT late REFERENCES a DEFERRABLE INITIALLY DEFERRED)
            """)
        let process = try await session.query("SELECT pg_backend_pid()").int32(0, 0)
        let insert = Statement("INSERT INTO b VALUES ($1)", [.int32(1)])
        for _ in 0..<3 {
            let alone = await failure { _ = try await session.query(insert) }
            #expect(alone?.sqlState == "23503")
            let several = await failure {
                _ = try await session.pipeline([insert, Statement("SELECT 1"), insert])
            }
            #expect(several?.sqlState == "23503")
            let inTransaction = await failure {
                try await session.transaction { _ = try $0.query(insert) }
            }
            #expect(inTransaction?.sqlState == "23503")
        }
        #expect(try await session.query("SELECT count(*) FROM b").int64(0, 0) == 0)
        let now = try await session.query("SELECT pg_backend_pid()").int32(0, 0)
        #expect(now == process, "the connection is kept")
    }

    @Test func `statements that fail at their first use leave nothing on the server`() async throws
    {
        let session = try TestDatabase.here().session()
        for _ in 0..<20 {
            _ = await failure { _ = try await session.query("SELECT 1 / $1", [.int32(0)]) }
        }
        let left = try await session.query("SELECT count(*) FROM pg_prepared_statements")
        #expect(try left[0].int64(0) <= 2)
    }

    @Test func `a session keeps a bounded number of prepared statements`() async throws {
        let session = try TestDatabase.here().session()
        for number in 0..<600 { _ = try await session.query("SELECT \(number)") }
        let left = try await session.query("SELECT count(*) FROM pg_prepared_statements")
        #expect(try left[0].int64(0) <= 300)
    }

    @Test func `a table that changed under a prepared statement is read as it now is`()
        async throws
    {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        _ = try await session.query("SELECT * FROM t")
        try await session.script("ALTER TABLE t ADD b int DEFAULT 2")
        #expect(try await session.query("SELECT * FROM t")[0].int64("b") == 2)
        try await session.script("DEALLOCATE ALL")
        #expect(try await session.query("SELECT * FROM t")[0].int64("b") == 2)
    }

    @Test func `a pipeline that committed in the middle is not run twice`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int); CREATE TABLE log (a int)")
        _ = try await session.query("SELECT * FROM t")
        try await session.script("ALTER TABLE t ADD b int")
        let error = await failure {
            _ = try await session.pipeline([
                Statement("BEGIN"), Statement("INSERT INTO log VALUES (1)"), Statement("COMMIT"),
                Statement("SELECT * FROM t"),
            ])
        }
        #expect(error?.sqlState == "0A000")
        #expect(try await session.query("SELECT count(*) FROM log")[0].int64(0) == 1)
    }

    @Test func `a statement that holds a NUL byte is refused, not cut`() async throws {
        let session = try TestDatabase.here().session()
        let error = await failure { _ = try await session.query("SELECT 1 \0 + 1") }
        #expect(error?.isUsage == true)
    }

    @Test func `a pipeline's error undoes the whole pipeline and leaves the session usable`()
        async throws
    {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int)")
        let error = await failure {
            _ = try await session.pipeline([
                Statement("INSERT INTO t VALUES (1)"), Statement("SELECT 1 / 0"),
                Statement("SELECT no_such_column"),
            ])
        }
        #expect(error?.sqlState == "22012", "the first error is the one thrown")
        let rows = try await session.pipeline([
            Statement("SELECT count(*) FROM t"), Statement("SELECT $1", [.text("ok")]),
        ])
        #expect(try rows[0][0].int64(0) == 0)
        #expect(try rows[1][0].text(0) == "ok")
    }

    @Test func `a pipeline far larger than the socket's buffers does not stall`() async throws {
        let session = try TestDatabase.here().session()
        let wide = [UInt8](repeating: 7, count: 20_000)
        let statements = (0..<1_000).map {
            Statement("SELECT $1::bytea, $2::int", [.bytes(wide), .int32($0)])
        }
        let answers = try await session.pipeline(statements)
        #expect(answers.count == 1_000)
        for (place, rows) in answers.enumerated() {
            #expect(try rows.int32(0, 1) == Int32(place))
        }
        #expect(try answers[999].bytes(0, 0) == wide)
    }

    @Test(.timeLimit(.minutes(5)))
    func `COPY given to the wrong method is refused and the session goes on`() async throws {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int)")
        for sql in ["COPY t FROM STDIN", "COPY t TO STDOUT"] {
            let scripted = await failure { try await session.script(sql) }
            #expect(scripted?.isUsage == true, "\(sql) as a script")
            let queried = await failure { _ = try await session.query(sql) }
            #expect(queried?.isUsage == true, "\(sql) as a query")
            #expect(try await session.query("SELECT 1::bigint")[0].int64(0) == 1)
        }
    }
}
