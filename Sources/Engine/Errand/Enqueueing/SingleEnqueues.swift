import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandThreads

/// Lets enqueues of single jobs that are made at the same time share a commit.
///
/// Nothing is held back: the first goes at once, and what arrives while it is under way goes
/// together in the next. One job that PostgreSQL refuses does not take the others with it.
///
/// Its two connections share one thread, so that the way from the commit to the workers crosses
/// none.
actor SingleEnqueues {
    private final class Ticket: Sendable {
        let args: [UInt8]
        let runAt: Instant?
        let shape: EnqueueShape
        let parent: Int64?
        private let answer = Mutex<Result<Enqueued, any Error>?>(nil)

        init(_ args: [UInt8], _ runAt: Instant?, _ shape: EnqueueShape, _ parent: Int64?) {
            self.args = args
            self.runAt = runAt
            self.shape = shape
            self.parent = parent
        }

        var result: Result<Enqueued, any Error>? {
            get { answer.withLock(\.self) }
            set { answer.withLock { $0 = newValue } }
        }
    }

    private static let batchLimit = 1_000

    private let thread = OwnThread(name: "errand-enqueue")
    private let session: Session
    /// On a connection of our own: an enqueue waits for Redis only as long as writing takes.
    private let window: ReadyWindow?
    private let offers: Offers?
    private nonisolated let waiting = Mutex<[Ticket]>([])

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    init(pool: Pool, redis: RedisAddress?, offers: Offers?) {
        session = pool.sessionApart(on: thread)
        self.offers = offers
        guard let offers, let redis else {
            window = nil
            return
        }
        window = offers.window.over(
            Connection(
                redis, name: "errand-enqueue", thread: thread,
                connectTimeout: .milliseconds(500), replyTimeout: .milliseconds(250)))
    }

    deinit { thread.stop() }

    /// Enqueues one job that has no unique key; on return it is committed.
    nonisolated func enqueue(
        _ args: [UInt8], at runAt: Instant?, shape: EnqueueShape, parent: Int64? = nil
    ) async throws -> Enqueued {
        let ticket = Ticket(args, runAt, shape, parent)
        waiting.withLock { $0.append(ticket) }
        return try await serve(ticket)
    }

    /// Writes what waits until this one is among it.
    private func serve(_ ticket: Ticket) async throws -> Enqueued {
        while true {
            if let result = ticket.result { return try result.get() }
            await write(take())
        }
    }

    private func take() -> [Ticket] {
        waiting.withLock { waiting in
            guard waiting.count > Self.batchLimit else {
                defer { waiting = [] }
                return waiting
            }
            defer { waiting.removeFirst(Self.batchLimit) }
            return Array(waiting.prefix(Self.batchLimit))
        }
    }

    private func write(_ tickets: [Ticket]) async {
        let groups = tickets.count == 1 ? [tickets] : Self.byShape(tickets)
        do {
            let answers = try await session.pipeline(groups.map(Self.statement))
            for (group, rows) in zip(groups, answers) {
                let made = try EnqueueStatement.read(rows)
                for (ticket, job) in zip(group, made) { ticket.result = .success(job) }
                await stage(made, group)
            }
        } catch PostgresError.server(let error) where tickets.count > 1 && !error.isTransient {
            for ticket in tickets { await write([ticket]) }
        } catch {
            for ticket in tickets { ticket.result = .failure(error) }
        }
    }

    private static func byShape(_ tickets: [Ticket]) -> [[Ticket]] {
        Dictionary(grouping: tickets, by: \.shape).values.map(\.self)
    }

    private static func statement(_ group: [Ticket]) -> Statement {
        let times = group.contains { $0.runAt != nil } ? group.map(\.runAt) : nil
        let parents = group.contains { $0.parent != nil } ? group.map(\.parent) : nil
        return EnqueueStatement.make(
            group.map(\.args), times: times, shape: group[0].shape, parents: parents)
    }

    /// Tells the workers: at once on our own connection, or in the background when Redis is in
    /// trouble.
    private func stage(_ made: [Enqueued], _ group: [Ticket]) async {
        guard let offers else { return }
        let shape = group[0].shape
        var due: [Staged] = []
        for (ticket, job) in zip(group, made) {
            if let staged = job.staged(asked: ticket.runAt, priority: shape.priority) {
                due.append(staged)
            } else {
                // The feeder knows when.
                offers.ask(for: shape.lane.name + Lane.later)
            }
        }
        guard !due.isEmpty else { return }
        guard let window, offers.isWell else { return offers.offer(due, to: shape.lane) }
        do {
            try await window.post(due, to: shape.lane)
        } catch {
            offers.distrust()
            offers.offer(due, to: shape.lane)
        }
    }
}
