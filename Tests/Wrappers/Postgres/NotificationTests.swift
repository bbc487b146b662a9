import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Notifications", .database) struct NotificationTests {
    @Test func `an idle session hears NOTIFY`() async throws {
        let database = try TestDatabase.here()
        let listener = database.session()
        let heard = Notebook<PostgresNotification>()
        try await listener.listen(["plain", "Odd \"name\""], { heard.add($0) }, onReset: {})
        let sender = database.session()
        try await sender.script("NOTIFY plain, 'one'; NOTIFY \"Odd \"\"name\"\"\", 'zwei ü'")
        try await eventually("both are heard") { heard.count == 2 }
        #expect(heard.all.map(\.channel) == ["plain", "Odd \"name\""])
        #expect(heard.all.map(\.payload) == ["one", "zwei ü"])
        await listener.close()
    }

    @Test func `what an answer brings along is delivered with it`() async throws {
        let session = try TestDatabase.here().session()
        let heard = Notebook<String>()
        try await session.listen(["plain"], { heard.add($0.payload) }, onReset: {})
        try await session.script("NOTIFY plain, 'script'")
        #expect(heard.all == ["script"])
        _ = try await session.query("SELECT pg_notify('plain', 'query')")
        #expect(heard.all == ["script", "query"])
        await session.close()
    }

    @Test func `a listening session that is killed while idle says so and listens again`()
        async throws
    {
        let database = try TestDatabase.here()
        let listener = database.session()
        let heard = Notebook<String>()
        let resets = Notebook<Bool>()
        try await listener.listen(
            ["plain"], { heard.add($0.payload) }, onReset: { resets.add(true) })
        let backend = try await listener.query("SELECT pg_backend_pid()")[0].int32(0)
        let other = database.session()
        _ = try await other.query("SELECT pg_terminate_backend($1)", [.int32(backend)])
        try await eventually("the break is told") { resets.count >= 1 }
        #expect(try await listener.query("SELECT pg_backend_pid()")[0].int32(0) != backend)
        #expect(resets.count >= 2, "what was sent before the new LISTEN is lost too: told again")
        try await other.script("NOTIFY plain, 'after'")
        try await eventually("the new connection listens") { heard.all == ["after"] }
        await listener.close()
    }
}
