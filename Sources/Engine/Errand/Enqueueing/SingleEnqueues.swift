import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandThreads

/// Commits concurrent enqueues of single jobs together.
///
/// It adds no delay: the first job is written at once, and jobs that arrive during the write share
/// the next commit. A job that PostgreSQL refuses does not affect the others.
///
/// Its two connections share one thread, so that no thread switch delays the staging of committed
/// jobs. In a worker it writes over the worker's pool instead of a connection of its own.
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

    /// Runs statements in one transaction.
    typealias Writing = @Sendable ([Statement]) async throws -> [Rows]

    private let thread = DedicatedThreadExecutor(name: "errand-enqueue")
    private let run: Writing
    /// The window over a connection of its own: an enqueue waits only for the write to its socket.
    private let window: ReadyWindow?
    private let offers: StagingQueue?
    private nonisolated let waiting = Mutex<[Ticket]>([])
    /// Whether a write runs over the worker's pool, and the callers that wait for its end.
    private var isWriting = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    init(pool: Pool, redis: RedisAddress?, offers: StagingQueue?, writing: Writing?) {
        if let writing {
            // A task of its own: the cancellation of one caller must not fail the others.
            run = { statements in try await Task { try await writing(statements) }.value }
        } else {
            let session = pool.sessionApart(on: thread)
            run = { try await session.pipeline($0) }
        }
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

    /// Enqueues one job without a unique key and commits it.
    nonisolated func enqueue(
        _ args: [UInt8], at runAt: Instant?, shape: EnqueueShape, parent: Int64? = nil
    ) async throws -> Enqueued {
        let ticket = Ticket(args, runAt, shape, parent)
        waiting.withLock { $0.append(ticket) }
        return try await serve(ticket)
    }

    /// Has the waiting jobs written until this one is.
    private func serve(_ ticket: Ticket) async throws -> Enqueued {
        while true {
            if let result = ticket.result { return try result.get() }
            guard !isWriting else {
                await withCheckedContinuation { waiters.append($0) }
                continue
            }
            isWriting = true
            await write(take())
            isWriting = false
            for waiter in waiters { waiter.resume() }
            waiters = []
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
            let answers = try await run(groups.map(Self.statement))
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

    /// Stages due jobs: at once on its own connection, or in the background if Redis has problems.
    private func stage(_ made: [Enqueued], _ group: [Ticket]) async {
        guard let offers else { return }
        let shape = group[0].shape
        var due: [Staged] = []
        for (ticket, job) in zip(group, made) {
            if let staged = job.staged(asked: ticket.runAt, priority: shape.priority) {
                due.append(staged)
            } else {
                // The feeder reads their due times.
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
