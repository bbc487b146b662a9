import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The README's samples", .database) struct ReadmeTests {
    private func orders(_ session: Session) async throws {
        try await session.script(
            "CREATE TABLE orders (id bigint PRIMARY KEY, receipt_sent boolean DEFAULT false)")
    }

    @Test func `the Swift sample enqueues with the order and sends its receipt`() async throws {
        let database = try TestDatabase.here()
        let session = database.session()
        try await orders(session)
        let client = try await JobClient(pool: database.pool(), redis: database.redis)
        let number = Int64.random(in: 1...Int64.max)
        let stop = Stop()
        async let worker: Void = runWorker(
            database: database.url, redis: try TestDatabase.environment("REDIS_URL"), until: stop)
        try await placeOrder(number, pool: database.pool(), client: client)
        try await eventually("the receipt of the order") {
            try await session.query("SELECT receipt_sent FROM orders").bool(0, 0)
        }
        stop.stop()
        try await worker
        #expect(await Mails.shared.receipts.contains(number))
        await #expect(throws: (any Error).self) {
            try await placeOrder(number, pool: database.pool(), client: client)
        }
        // The second order failed, and no job is left of it.
        #expect(try await session.query("SELECT count(*) FROM errand.jobs").int64(0, 0) == 0)
    }

    @Test func `the SQL sample enqueues`() async throws {
        let session = try TestDatabase.here().session()
        try await orders(session)
        let blocks = try #require(Page.at("README.md")).blocks.filter { $0.language == "sql" }
        for block in blocks { try await session.script(block.lines.joined(separator: "\n")) }
        let rows = try await session.query("SELECT kind, unique_key FROM errand.jobs")
        #expect(try rows.text(0, 0) == "receipt.send" && rows.text(0, 1) == "order:18")
    }

    /// What the eight commands print is up to the tests of each; here they only have to run.
    @Test func `the commands for operators run`() async throws {
        let database = try TestDatabase.here()
        let readme = try #require(Page.at("README.md"))
        let block = try #require(
            readme.blocks.first { $0.lines.contains { $0.hasPrefix("errand doctor") } })
        let environment = ["DATABASE_URL": database.url]
        let calls = ShellCalls(block.lines).calls.map {
            $0.split(separator: " ").dropFirst().map(String.init)
        }
        #expect(calls.count == 8)
        _ = try await database.session().query(
            "SELECT errand.enqueue('demo.noop', '{}', queue => 'mail')")
        for var words in calls {
            if words[0] == "work" { words.append("--drain") }
            let program = try Program(Program.errand, words, environment: environment)
            let end = try await program.end(within: .seconds(600))
            // Warnings are findings: the test's servers are not set up as in production.
            #expect(
                [.exited(0), .exited(10)].contains(end), "\(words): \(program.errors)")
        }
    }
}
