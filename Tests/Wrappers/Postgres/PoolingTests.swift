import ErrandPostgres
import ErrandTestServices
import Testing

/// Sessions that find themselves behind a pooler, or on a server that only reads.
@Suite("Poolers and standbys", .database) struct PoolingTests {
    private func session(
        _ pooling: Pooling, setup: [String] = ["SET TimeZone = 'UTC'"]
    ) throws -> Session {
        var settings = SessionSettings(
            try TestDatabase.here().url, name: "test", setup: setup)
        settings.pooling = pooling
        return Session(settings)
    }

    @Test func `a server without a pooler is known as such`() async throws {
        let session = try session(.detected)
        #expect(try await !session.isPooled())
        try await session.requireOwnProcess(for: "a test")
    }

    @Test func `behind a pooler nothing is prepared, and settings end with the transaction`()
        async throws
    {
        let session = try session(
            .transaction, setup: ["SET statement_timeout = '77s'", "SET application_name = 'a''b'"])
        #expect(try await session.isPooled())
        for _ in 0..<2 {
            let rows = try await session.pipeline([
                Statement("SHOW statement_timeout"),
                Statement("SELECT $1::int4 + 1", [.int32(1)]),
                Statement("SELECT count(*) FROM pg_prepared_statements"),
                Statement("SHOW application_name"),
            ])
            #expect(rows.count == 4)
            #expect(try rows[3].text(0, 0) == "a'b")
            #expect(try rows[0].text(0, 0) == "77s")
            #expect(try rows[1].int32(0, 0) == 2)
            #expect(try rows[2].int64(0, 0) == 0)
        }
        let error = await failure { try await session.requireOwnProcess(for: "a test") }
        #expect(error?.isUsage == true)
        #expect(error?.description.contains("a test needs a PostgreSQL session") == true)
        let deaf = await failure {
            try await session.listen(["a"]) { _ in
            } onReset: {
            }
        }
        #expect(deaf?.isUsage == true)
    }

    @Test(arguments: [
        "SELECT 1", "SET a TO 1", "SET LOCAL a = 1", "SET a = 'it's'", #"SET a = E'\''"#,
    ])
    func `behind a pooler a setup of another form is refused`(_ command: String) async throws {
        let session = try session(.transaction, setup: [command])
        let error = await failure { try await session.connect() }
        #expect(error?.isUsage == true)
        #expect(error?.description.contains(command) == true)
    }

    @Test func `a server that only reads is left, and the next statement looks for another`()
        async throws
    {
        let session = try session(.detected)
        try await session.script(
            "CREATE TABLE public.kept (id int); SET default_transaction_read_only = on")
        let process = try await session.query("SELECT pg_backend_pid()").int32(0, 0)
        let error = await failure { _ = try await session.query("INSERT INTO kept VALUES (1)") }
        #expect(error?.sqlState == "25006")
        #expect(error?.isTransient == true)
        _ = try await session.query("INSERT INTO kept VALUES (2)")
        #expect(try await session.query("SELECT pg_backend_pid()").int32(0, 0) != process)
        #expect(try await session.query("SELECT id FROM kept").map { try $0.int32(0) } == [2])
    }

    @Test func `one that reads by its own will stays where it is`() async throws {
        let session = try session(
            .detected, setup: ["SET default_transaction_read_only = on"])
        let process = try await session.query("SELECT pg_backend_pid()").int32(0, 0)
        let error = await failure { _ = try await session.query("CREATE TABLE public.x ()") }
        #expect(error?.sqlState == "25006")
        #expect(try await session.query("SELECT pg_backend_pid()").int32(0, 0) == process)
    }

    @Test func `of several hosts the one that writes is taken, unless the URL says otherwise`()
        async throws
    {
        let database = try TestDatabase.here()
        // The same socket twice; a role whose transactions only read stands for a standby.
        let (admin, name) = try await database.login(as: "errand_app")
        await admin.close()
        try await database.session().script(
            "ALTER ROLE \(name) SET default_transaction_read_only = on")
        let parts = database.url.replacing("//errand@", with: "//\(name)@")
            .split(separator: "host=")
        let socket = parts[1].prefix { $0 != "&" }
        let url = parts[0] + "host=\(socket),\(socket)" + parts[1].dropFirst(socket.count)
        let error = await failure {
            try await Session(SessionSettings(String(url), name: "test")).connect()
        }
        #expect(error?.isUnreachable == true)
        #expect(error?.description.contains("read-only") == true, "\(String(describing: error))")
        try await Session(SessionSettings(url + "&target_session_attrs=any", name: "test"))
            .connect()
        try await Session(
            SessionSettings(database.url.replacing("//errand@", with: "//\(name)@"), name: "test")
        ).connect()
    }
}
