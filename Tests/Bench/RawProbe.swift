import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandRedis
import Synchronization

/// The shortest way from an enqueue to a start: INSERT what is due, wake a popper, claim.
///
/// `--by swift` wakes through a sorted set in Redis, `--by sql` with NOTIFY in the inserting
/// transaction. Completions go over a third connection, in the background.
final class RawProbe: Sendable {
    private struct Sent {
        var n: Int
        var at: Int64
    }

    private struct State {
        /// By the ids of the jobs; what is popped sooner than its sender has the id waits here.
        var sent: [Int64: Sent] = [:]
        var started: [Int64: Int64] = [:]
    }

    private let window = "bench:probe"
    private let flags: Flags
    private let plan: Plan
    private let statements: RawStatements
    private let byNotify: Bool
    private let state = Mutex(State())

    init(_ flags: Flags) throws {
        self.flags = flags
        plan = try Plan(flags)
        statements = RawStatements()
        byNotify = try flags.text("by", "swift") == "sql"
    }

    func run() async throws {
        let (claimed, claims) = AsyncStream.makeStream(of: (ids: [Int64], token: Int64).self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await (self.byNotify ? self.listen(claims) : self.pop(claims))
                claims.finish()
            }
            group.addTask { try await self.finish(claimed) }
            group.addTask {
                // The other two first get ready.
                try await Task.sleep(for: .milliseconds(500))
                try await self.send()
            }
            // A part that fails ends the others.
            while try await group.next() != nil {}
        }
        let lines = state.withLock { state in
            state.started.compactMap { id, at in
                state.sent[id].map { "\($0.n) \($0.at) \(at)\n" }
            }
        }
        try lines.joined().write(
            toFile: flags.text("record"), atomically: true, encoding: .utf8)
        report([("jobs", Double(lines.count)), ("seconds", 0)])
    }

    /// Inserts together what falls due together.
    private func send() async throws {
        let (due, dueNow) = AsyncStream.makeStream(of: Sent.self)
        async let sending: Void = insert(due)
        try await plan.steps(from: monotonicNow()) { n, at in
            dueNow.yield(Sent(n: n, at: plan.rate > 1_000 ? at : monotonicNow()))
        }
        dueNow.finish()
        try await sending
    }

    private func insert(_ due: AsyncStream<Sent>) async throws {
        let session = try statements.session(flags, "bench-insert")
        let redis = Connection(try flags.redis(), name: "bench-wake")
        let waiting = Gathered<Sent>()
        let more = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        async let gathering: Void = {
            for await one in due {
                waiting.add(one)
                more.continuation.yield()
            }
            more.continuation.finish()
        }()
        for await _ in more.stream {
            let batch = waiting.take()
            guard !batch.isEmpty else { continue }
            let insert = statements.insert(batch.map { _ in rawArguments })
            let notify = Statement("SELECT pg_notify('bench', 'x')")
            let rows = try await session.pipeline(byNotify ? [insert, notify] : [insert])[0]
            var wake = Command("ZADD", window)
            for (row, sent) in batch.enumerated() {
                let id = try rows.int64(row, 0)
                state.withLock { $0.sent[id] = sent }
                wake.append(sent.n)
                wake.append(id)
            }
            if !byNotify { _ = try await redis.send(wake) }
        }
        await gathering
    }

    private func pop(
        _ claimed: AsyncStream<(ids: [Int64], token: Int64)>.Continuation
    ) async throws {
        let session = try statements.session(flags, "bench-claim", isDurable: false)
        let redis = Connection(try flags.redis(), name: "bench-pop")
        _ = try await redis.send(Command("DEL", window))
        let worker = try await statements.worker(session)
        let pop = Command("BZMPOP", "1", "1", window, "MIN", "COUNT", "1000")
        var idle = 0
        while !isDone, idle < 10 {
            let reply = try await redis.blocking(pop, upTo: .seconds(1))
            let found = reply.array?.last?.array ?? []
            let ids = found.compactMap { $0.array?.first?.int }
            idle = ids.isEmpty ? idle + 1 : 0
            if !ids.isEmpty { claimed.yield(try await claim(ids, worker, session)) }
        }
    }

    private func listen(
        _ claimed: AsyncStream<(ids: [Int64], token: Int64)>.Continuation
    ) async throws {
        let session = try statements.session(flags, "bench-claim", isDurable: false)
        let listening = Session(SessionSettings(try flags.database(), name: "bench-listen"))
        let worker = try await statements.worker(session)
        let (woken, wake) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await listening.listen(["bench"]) { _ in
            wake.yield()
        } onReset: {
            wake.finish()
        }
        var last = try await session.query("SELECT coalesce(max(id), 0) FROM errand.jobs")
            .int64(0, 0)
        for await _ in woken {
            let rows = try await session.query(
                "SELECT id FROM errand.jobs WHERE id > $1 ORDER BY id", [.int64(last)])
            var ids: [Int64] = []
            for row in 0..<rows.count { ids.append(try rows.int64(row, 0)) }
            guard let newest = ids.last else { continue }
            last = newest
            claimed.yield(try await claim(ids, worker, session))
            if isDone { break }
        }
        await listening.close()
    }

    private var isDone: Bool { state.withLock { $0.started.count >= plan.count } }

    private func claim(
        _ ids: [Int64], _ worker: Int64, _ session: Session
    ) async throws -> (ids: [Int64], token: Int64) {
        let token = Int64.random(in: 1...Int64.max)
        let rows = try await session.query(
            statements.claim(ids, worker: worker, token: token))
        var mine: [Int64] = []
        for row in 0..<rows.count { mine.append(try rows.int64(row, 0)) }
        let now = monotonicNow()
        let started = mine
        state.withLock { state in for id in started { state.started[id] = now } }
        return (mine, token)
    }

    private func finish(_ claimed: AsyncStream<(ids: [Int64], token: Int64)>) async throws {
        let session = try statements.session(flags, "bench-finish")
        for await batch in claimed where !batch.ids.isEmpty {
            _ = try await session.query(statements.complete(batch.ids, token: batch.token))
        }
    }
}
