import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

@Suite("COPY", .database) struct CopyTests {
    private struct Refusal: Error {}

    private static func table() async throws -> Session {
        let session = try TestDatabase.here().session()
        try await session.script("CREATE TABLE t (a int, b text)")
        return session
    }

    private static func count(_ session: Session) async throws -> Int64 {
        try await session.query("SELECT count(*) FROM t")[0].int64(0)
    }

    /// Sends lines, each from the number of those sent before it, until nil.
    private static func copy(
        into session: Session, _ line: @escaping @Sendable (Int) throws -> String?
    ) async throws -> Int {
        try await session.run { session in
            var sent = 0
            return try session.copyIn("COPY t FROM STDIN") {
                defer { sent += 1 }
                return try line(sent).map { Array($0.utf8) }
            }
        }
    }

    @Test func `rows arrive in chunks of any size, empty ones among them`() async throws {
        let session = try await Self.table()
        let pieces = ["1\to", "", "ne\n2\t", "zwei ü\n3\t\\N\n"]
        let count = try await Self.copy(into: session) { $0 < pieces.count ? pieces[$0] : nil }
        #expect(count == 3)
        let rows = try await session.query("SELECT b FROM t ORDER BY a")
        #expect(try rows.map { try $0.optionalText(0) } == ["one", "zwei ü", nil])
    }

    @Test func `far more than the socket's buffers hold goes through`() async throws {
        let session = try await Self.table()
        let wide = String(repeating: "x", count: 1_000)
        let count = try await Self.copy(into: session) { $0 < 20_000 ? "\($0)\t\(wide)\n" : nil }
        #expect(count == 20_000)
        #expect(try await Self.count(session) == 20_000)
    }

    @Test func `nothing sent is nothing copied`() async throws {
        let session = try await Self.table()
        #expect(try await Self.copy(into: session) { _ in nil } == 0)
    }

    @Test func `a sender that throws undoes it, and its own error comes back`() async throws {
        let session = try await Self.table()
        await #expect(throws: Refusal.self) {
            _ = try await Self.copy(into: session) { sent in
                if sent == 500 { throw Refusal() }
                return "\(sent)\tx\n"
            }
        }
        #expect(try await Self.count(session) == 0)
        #expect(try await Self.copy(into: session) { $0 < 1 ? "1\tx\n" : nil } == 1)
    }

    @Test func `bad data is refused with the line that it stands in`() async throws {
        let session = try await Self.table()
        let error = await failure {
            _ = try await Self.copy(into: session) {
                $0 < 5 ? ($0 == 3 ? "x\tx\n" : "1\tx\n") : nil
            }
        }
        #expect(error?.sqlState == "22P02")
        #expect(error?.description.contains("line 4") == true)
        #expect(try await Self.count(session) == 0)
    }

    @Test func `a statement that is no COPY FROM STDIN is refused`() async throws {
        let session = try await Self.table()
        for sql in ["SELECT 1", "COPY t TO STDOUT", "CREATE TABLE u ()"] {
            let error = await failure { _ = try await session.copyIn(sql, next: { nil }) }
            #expect(error?.isUsage == true, "\(sql)")
        }
        let error = await failure {
            _ = try await session.copyIn("COPY nowhere FROM STDIN", next: { nil })
        }
        #expect(error?.sqlState == "42P01")
        #expect(try await Self.count(session) == 0)
    }

    /// A receiver that is never called.
    private static func copy(_ sql: String, outOf session: Session) async throws -> Int {
        try await session.run { session in try session.copyOut(sql) { _ in throw Refusal() } }
    }

    @Test func `COPY TO STDOUT hands on the rows, and tells how many`() async throws {
        let session = try await Self.table()
        try await session.script("INSERT INTO t SELECT n, 'x' FROM generate_series(1, 1000) n")
        let (count, bytes) = try await session.run { session in
            var bytes = 0
            let count = try session.copyOut("COPY t TO STDOUT") { bytes += $0.count }
            return (count, bytes)
        }
        #expect(count == 1_000)
        #expect(bytes == 9 + 90 * 2 + 900 * 3 + 4 + 1_000 * 3)
    }

    // "spins for ever on COPY … FROM STDIN"
    @Test func `a statement that is no COPY TO STDOUT is refused, also COPY FROM STDIN`()
        async throws
    {
        let session = try await Self.table()
        for sql in ["COPY t FROM STDIN", "SELECT 1", "CREATE TABLE u ()", ""] {
            let error = await failure { _ = try await Self.copy(sql, outOf: session) }
            #expect(error?.isUsage == true, "\(sql)")
            // The session can be used again.
            #expect(try await Self.count(session) == 0)
        }
        let error = await failure {
            _ = try await Self.copy("COPY nowhere TO STDOUT", outOf: session)
        }
        #expect(error?.sqlState == "42P01")
    }

    @Test(arguments: ["COPY t FROM STDIN", "COPY t TO STDOUT"])
    func `a second COPY in one text is refused`(second: String) async throws {
        let session = try await Self.table()
        let error = await failure {
            _ = try await session.run { session in
                var isSent = false
                return try session.copyIn("COPY t FROM STDIN; \(second)") {
                    defer { isSent = true }
                    return isSent ? nil : Array("1\tx\n".utf8)
                }
            }
        }
        #expect(error?.isUsage == true)
        _ = try await Self.count(session)
    }

    @Test func `its sender cannot use the session that it sends over`() async throws {
        let session = try await Self.table()
        let error = await failure {
            _ = try await session.run { session in
                try session.copyIn("COPY t FROM STDIN") {
                    _ = try session.query("SELECT 1")
                    return nil
                }
            }
        }
        #expect(error?.isUsage == true)
        #expect(try await Self.count(session) == 0)
    }

    @Test func `in a transaction it shares the transaction's fate`() async throws {
        let database = try TestDatabase.here()
        let session = try await Self.table()
        let pool = database.pool(1)
        await #expect(throws: Refusal.self) {
            try await pool.transaction { transaction in
                let isSent = Mutex(false)
                let count = try await transaction.copyIn("COPY t FROM STDIN") {
                    isSent.withLock { isSent in
                        defer { isSent = true }
                        return isSent ? nil : Array("1\tx\n2\ty\n".utf8)
                    }
                }
                #expect(count == 2)
                throw Refusal()
            }
        }
        await pool.close()
        #expect(try await Self.count(session) == 0)
    }
}
