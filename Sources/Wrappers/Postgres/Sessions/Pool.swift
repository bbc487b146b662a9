import Synchronization
package import ErrandThreads

/// Lends sessions, at most `limit` at a time, first come first served.
public final class Pool: Sendable {
    private struct Waiter {
        var id: UInt64
        var reply: CheckedContinuation<Session, any Error>
    }

    private struct State {
        var idle: [Session] = []
        var made = 0
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
        /// Those on their way from being told to wait to the queue, and whether they were
        /// cancelled on it.
        var arriving: [UInt64: Bool] = [:]
        var isClosed = false
    }

    private let settings: SessionSettings
    /// How many it lends at a time at most.
    package let limit: Int
    private let onMaking: @Sendable (Session) -> Void
    private let state = Mutex(State())

    /// A pool that makes its sessions when they are first needed.
    ///
    /// - Parameter onMaking: is told of each that is made, so that its statements can be cancelled.
    public init(
        _ settings: SessionSettings, limit: Int,
        onMaking: @escaping @Sendable (Session) -> Void = { _ in }
    ) {
        self.settings = settings
        self.limit = limit
        self.onMaking = onMaking
    }

    /// Lends a session for as long as `body` runs.
    ///
    /// - Throws: what `body` throws, `CancellationError` when the task is cancelled while it
    ///   waits its turn, and ``PostgresError/usage(_:)`` once the pool is closed.
    public func withSession<Value: Sendable>(
        _ body: (Session) async throws -> Value
    ) async throws -> Value {
        let session = try await take()
        do {
            let value = try await body(session)
            await giveBack(session)
            return value
        } catch {
            await giveBack(session)
            throw error
        }
    }

    /// Runs a statement, each time by itself, until it changes fewer rows than it may at once.
    ///
    /// - Parameter limit: how many it may; its own LIMIT.
    /// - Returns: how many it changed in all.
    package func exhaust(_ statement: Statement, limit: Int) async throws -> Int {
        var count = 0
        while true {
            try Task.checkCancellation()
            let changed = try await withSession { try await $0.pipeline([statement])[0].affected }
            count += changed
            if changed < limit { return count }
        }
    }

    /// Runs a transaction: it commits when `body` returns, and rolls back when it throws.
    public func transaction<Value: Sendable>(
        _ body: (Transaction) async throws -> Value
    ) async throws -> Value {
        try await withSession { session in
            let number = try await session.begin()
            let value: Value
            do {
                value = try await body(Transaction(session: session, number: number))
            } catch {
                await session.rollback(number)
                throw error
            }
            try await session.commit(number)
            return value
        }
    }

    /// A session of the same settings that is not lent, on a thread of the caller's.
    package func sessionApart(on thread: OwnThread) -> Session {
        Session(settings, thread: thread)
    }

    /// How many sessions are lent now.
    package var lentCount: Int { state.withLock { $0.made - $0.idle.count } }

    /// How many wait for a session now.
    public var waitingCount: Int { state.withLock(\.waiters.count) }

    /// Disconnects what is idle; what is lent is disconnected when it comes back.
    public func close() async {
        let (idle, waiters) = state.withLock { state in
            state.isClosed = true
            defer {
                state.idle = []
                state.waiters = []
            }
            return (state.idle, state.waiters)
        }
        for waiter in waiters { waiter.reply.resume(throwing: Self.closed) }
        for session in idle { await session.close() }
    }

    private static let closed = PostgresError.usage("the pool of sessions is closed")

    private func take() async throws -> Session {
        enum Answer { case lend(Session), make, wait(UInt64), closed }
        let answer = state.withLock { state -> Answer in
            if state.isClosed { return .closed }
            // The one used last is the most likely to be warm.
            if let session = state.idle.popLast() { return .lend(session) }
            if state.made < limit {
                state.made += 1
                return .make
            }
            state.nextWaiter += 1
            state.arriving[state.nextWaiter] = false
            return .wait(state.nextWaiter)
        }
        switch answer {
        case .lend(let session): return session
        case .make:
            let session = Session(settings)
            onMaking(session)
            return session
        case .closed: throw Self.closed
        case .wait(let id): return try await wait(id)
        }
    }

    private func wait(_ id: UInt64) async throws -> Session {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reply in
                let answer = state.withLock { state -> Result<Session, any Error>? in
                    if state.arriving.removeValue(forKey: id) == true {
                        return .failure(CancellationError())
                    }
                    if state.isClosed { return .failure(Self.closed) }
                    // One may have come back while this task was on its way here.
                    if let session = state.idle.popLast() { return .success(session) }
                    state.waiters.append(Waiter(id: id, reply: reply))
                    return nil
                }
                if let answer { reply.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let place = state.waiters.firstIndex(where: { $0.id == id }) else {
                    // Not in the queue yet, or served already: then it has its session.
                    if state.arriving[id] != nil { state.arriving[id] = true }
                    return nil
                }
                return state.waiters.remove(at: place)
            }
            waiter?.reply.resume(throwing: CancellationError())
        }
    }

    private func giveBack(_ session: Session) async {
        // A transaction that someone left open is not the next one's: the server undoes it.
        if session.hasOpenTransaction { await session.close() }
        let (waiter, isClosed) = state.withLock { state -> (Waiter?, Bool) in
            if state.isClosed { return (nil, true) }
            guard state.waiters.isEmpty else { return (state.waiters.removeFirst(), false) }
            state.idle.append(session)
            return (nil, false)
        }
        waiter?.reply.resume(returning: session)
        if isClosed { await session.close() }
    }
}
