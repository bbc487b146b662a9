import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRedis

/// The engine's statements from bare loops: what the servers allow, with no engine around them.
enum RawLoops {
    private static let window = "bench:raw"
    private static let batch = 1_000
    private static let popScript = Script(
        """
        local ids = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)
        redis.call('ZREMRANGEBYRANK', KEYS[1], 0, ARGV[1] - 1)
        return ids
        """)

    /// Drains what waits in errand.jobs.
    ///
    /// Pop a thousand ids, claim them, and, while the next
    /// thousand are claimed, complete them. Filling Redis is not timed. `start_seconds` is the
    /// time from the first claim to the last: as where handlers note their starts, the first batch
    /// costs nothing and the last end is not waited for.
    static func drain(_ flags: Flags) async throws {
        let statements = RawStatements()
        let claims = try statements.session(flags, "bench-claim", isDurable: false)
        let endings = try statements.session(flags, "bench-finish")
        let redis = Connection(try flags.redis(), name: "bench-raw")
        try await fill(redis, from: endings, limit: try flags.int("count"))
        let worker = try await statements.worker(claims)
        var done = 0
        var claimed: (ids: [Int64], token: Int64) = ([], 0)
        let start = monotonicNow()
        var (firstClaim, lastClaim) = (start, start)
        while true {
            let popped = try await pop(redis)
            let last = claimed
            async let ended = finish(last.ids, last.token, endings, statements)
            let token = Int64.random(in: 1...Int64.max)
            var ids: [Int64] = []
            if !popped.isEmpty {
                let rows = try await claims.query(
                    statements.claim(popped, worker: worker, token: token))
                ids.reserveCapacity(rows.count)
                for row in 0..<rows.count { ids.append(try rows.int64(row, 0)) }
                lastClaim = monotonicNow()
                if last.ids.isEmpty { firstClaim = lastClaim }
            }
            done += try await ended
            claimed = (ids, token)
            if ids.isEmpty { break }
        }
        report([
            ("jobs", Double(done)), ("seconds", seconds(from: start, to: monotonicNow())),
            ("start_seconds", seconds(from: firstClaim, to: lastClaim)),
        ])
    }

    private static func fill(
        _ redis: Connection, from session: Session, limit: Int
    ) async throws {
        _ = try await redis.send(Command("DEL", window))
        let rows = try await session.query(
            """
            SELECT id, extract(epoch FROM run_at)::bigint FROM errand.jobs
            WHERE queue = 'default' AND kind = 'demo.noop' AND args_version = 1
                AND priority = 2 AND run_at <= now() AND claimed_by IS NULL
            ORDER BY run_at, id LIMIT $1
            """, [.int64(Int64(limit))])
        var next = 0
        while next < rows.count {
            var command = Command("ZADD", window)
            for row in next..<min(next + 5_000, rows.count) {
                command.append(try rows.int64(row, 1))
                command.append(try rows.int64(row, 0))
            }
            _ = try await redis.send(command)
            next += 5_000
        }
    }

    private static func pop(_ redis: Connection) async throws -> [Int64] {
        var arguments = Arguments()
        arguments.append(batch)
        return try await redis.runForIntegers(popScript, keys: [window], arguments: arguments)
    }

    private static func finish(
        _ ids: [Int64], _ token: Int64, _ session: Session, _ statements: RawStatements
    ) async throws -> Int {
        guard !ids.isEmpty else { return 0 }
        let rows = try await session.query(statements.complete(ids, token: token))
        return Int(try rows.int64(0, 0))
    }

    /// Inserts `count` jobs in batches of `--batch`, on `--callers` connections.
    static func enqueue(_ flags: Flags) async throws {
        let statements = RawStatements()
        let count = try flags.int("count")
        let batch = try flags.int("batch", 1_000)
        let callers = try flags.int("callers", 1)
        let insert = statements.insert([[UInt8]](repeating: rawArguments, count: batch))
        var sessions: [Session] = []
        for _ in 0..<callers {
            let session = try statements.session(flags, "bench-raw")
            _ = try await session.query(insert)
            sessions.append(session)
        }
        let rounds = count / callers / batch
        let start = monotonicNow()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions {
                group.addTask {
                    try await session.run { session in
                        for _ in 0..<rounds { _ = try session.query(insert) }
                    }
                }
            }
            try await group.waitForAll()
        }
        report([
            ("jobs", Double(rounds * batch * callers)),
            ("seconds", seconds(from: start, to: monotonicNow())),
        ])
    }

    /// Copies `count` rows that were made beforehand, in one transaction.
    static func copy(_ flags: Flags) async throws {
        let statements = RawStatements()
        let session = try statements.session(flags, "bench-copy")
        let count = try flags.int("count")
        let now = Instant.now()
        let job = BulkRows.Job(
            queue: "default", kind: "demo.noop", version: 1, priority: 2, maxAttempts: 20)
        var rows = BulkRows()
        var chunks: [[UInt8]] = []
        for _ in 0..<count {
            rows.add(job, args: rawArguments[...], now: now)
            if rows.size > 1 << 16 { chunks.append(rows.take()) }
        }
        chunks.append(rows.end())
        let made = chunks
        let sql = Statements.copy
        try await session.connect()
        let start = monotonicNow()
        let copied = try await session.run { session in
            var next = made.makeIterator()
            return try session.copyIn(sql) { next.next() }
        }
        report([("jobs", Double(copied)), ("seconds", seconds(from: start, to: monotonicNow()))])
    }
}
