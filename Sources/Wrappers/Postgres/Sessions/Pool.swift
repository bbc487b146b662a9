import Synchronization
package import ErrandThreads

/// A pool of at most `limit` sessions, which it lends in the order of requests.
///
/// It gives connections back that are not needed for a while. If the server accepts no more
/// connections, callers share those that the pool has.
public final class Pool: Sendable {
    private struct Idle {
        var session: Session
        var since: ContinuousClock.Instant
    }

    private struct Waiter {
        var id: UInt64
        /// Takes a session; nil asks the caller to try again.
        var reply: CheckedContinuation<Session?, any Error>
    }

    private struct State {
        /// The longest unused first.
        var idle: [Idle] = []
        var made = 0
        var isShrinking = false
        var waiters: [Waiter] = []
        var nextWaiter: UInt64 = 0
        /// The requests that are about to enter the queue, and whether they were cancelled before.
        var arriving: [UInt64: Bool] = [:]
        var isClosed = false
    }

    private let settings: SessionSettings
    /// The pool whose sessions this one lends; nil for a pool with sessions of its own.
    private let parent: Pool?
    /// The maximum number of sessions in use.
    package let limit: Int
    /// How long a session stays connected without use.
    private let idleTime: Duration
    private let onMaking: @Sendable (Session) -> Void
    private let state = Mutex(State())

    /// Creates a pool.
    ///
    /// It creates its sessions on demand.
    ///
    /// - Parameters:
    ///   - settings: the settings of its sessions.
    ///   - limit: the maximum number of sessions.
    ///   - idleTime: how long a session stays connected without use.
    ///   - onMaking: called with each new session, so that its statements can be cancelled.
    public init(
        _ settings: SessionSettings, limit: Int, idleTime: Duration = .seconds(30),
        onMaking: @escaping @Sendable (Session) -> Void = { _ in }
    ) {
        self.settings = settings
        self.limit = limit
        self.idleTime = idleTime
        self.onMaking = onMaking
        parent = nil
    }

    /// Creates a pool that lends sessions of another one.
    ///
    /// The other's callers have the rest for themselves, however long these are in use.
    ///
    /// - Parameter limit: the maximum number of sessions, less than that of the other pool.
    package init(sharing parent: Pool, limit: Int) {
        settings = parent.settings
        self.limit = limit
        idleTime = parent.idleTime
        onMaking = parent.onMaking
        self.parent = parent
    }

    /// Runs `body` with a session of the pool.
    ///
    /// - Throws: the error of `body`; `CancellationError` if the task is cancelled while it waits
    ///   for a session; ``PostgresError/usage(_:)`` after the pool was closed.
    public func withSession<Value: Sendable>(
        _ body: (Session) async throws -> Value
    ) async throws -> Value {
        let session = try await take()
        do {
            let value = try await body(session)
            await returnSession(session)
            return value
        } catch {
            await returnSession(session)
            throw error
        }
    }

    /// Repeats a statement, each time in its own transaction, until it affects fewer rows than
    /// `limit`.
    ///
    /// - Parameter limit: the LIMIT of the statement.
    /// - Returns: the total number of affected rows.
    package func exhaust(_ statement: Statement, limit: Int) async throws -> Int {
        var count = 0
        while true {
            try Task.checkCancellation()
            let changed = try await withSession { try await $0.pipeline([statement])[0].affected }
            count += changed
            if changed < limit { return count }
        }
    }

    /// Runs a transaction.
    ///
    /// It commits when `body` returns, and rolls back when `body` throws.
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

    /// Returns a session with the same settings outside the pool, on a thread of the caller.
    package func sessionApart(on thread: DedicatedThreadExecutor) -> Session {
        Session(settings, thread: thread)
    }

    /// The number of sessions in use.
    package var lentCount: Int { state.withLock { $0.made - $0.idle.count } }

    /// Whether the next caller would wait for a session.
    package var isExhausted: Bool { state.withLock { $0.idle.isEmpty && $0.made >= limit } }

    /// The number of callers that wait for a session.
    public var waitingCount: Int { state.withLock(\.waiters.count) }

    /// Closes the idle sessions now, and each session in use when it is returned.
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
        for idle in idle { await idle.session.close() }
    }

    private static let closed = PostgresError.usage("the pool of sessions is closed")

    private func take() async throws -> Session {
        enum Answer { case lend(Session), make, wait(UInt64), closed }
        while true {
            let answer = state.withLock { state -> Answer in
                if state.isClosed { return .closed }
                // The most recently used session has the warmest caches.
                if let idle = state.idle.popLast() { return .lend(idle.session) }
                if state.made < limit {
                    state.made += 1
                    return .make
                }
                return .wait(Self.arrive(&state))
            }
            switch answer {
            case .lend(let session): return session
            case .make:
                do { return try await make() } catch {
                    guard let id = release(after: error) else { throw error }
                    if let session = try await wait(id, forOthers: true) { return session }
                }
            case .closed: throw Self.closed
            case .wait(let id): if let session = try await wait(id) { return session }
            }
        }
    }

    private static func arrive(_ state: inout State) -> UInt64 {
        state.nextWaiter += 1
        state.arriving[state.nextWaiter] = false
        return state.nextWaiter
    }

    private func make() async throws -> Session {
        if let parent { return try await parent.take() }
        let session = Session(settings)
        onMaking(session)
        try await session.connect()
        return session
    }

    /// Records that a session could not be made.
    ///
    /// - Returns: the number under which to wait for another session, if the server is full and the
    ///   pool has others.
    private func release(after error: any Error) -> UInt64? {
        let isFull = (error as? PostgresError)?.isOfFullServer ?? false
        let (id, waiter) = state.withLock { state -> (UInt64?, Waiter?) in
            state.made -= 1
            if state.made > 0 { return (isFull ? Self.arrive(&state) : nil, nil) }
            // No session will be returned: the next one tries for itself.
            return (nil, state.waiters.isEmpty ? nil : state.waiters.removeFirst())
        }
        waiter?.reply.resume(returning: nil)
        return id
    }

    /// Waits for a returned session; nil asks the caller to try again.
    ///
    /// - Parameter forOthers: whether a session must be awaited although the limit is not reached.
    private func wait(_ id: UInt64, forOthers: Bool = false) async throws -> Session? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reply in
                let answer = state.withLock { state -> Result<Session?, any Error>? in
                    if state.arriving.removeValue(forKey: id) == true {
                        return .failure(CancellationError())
                    }
                    if state.isClosed { return .failure(Self.closed) }
                    // A session may have been returned in the meantime.
                    if let idle = state.idle.popLast() { return .success(idle.session) }
                    if state.made < (forOthers ? 1 : limit) { return .success(nil) }
                    state.waiters.append(Waiter(id: id, reply: reply))
                    return nil
                }
                if let answer { reply.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let place = state.waiters.firstIndex(where: { $0.id == id }) else {
                    // Not in the queue yet, or already served: then the caller has its session.
                    if state.arriving[id] != nil { state.arriving[id] = true }
                    return nil
                }
                return state.waiters.remove(at: place)
            }
            waiter?.reply.resume(throwing: CancellationError())
        }
    }

    private func returnSession(_ session: Session) async {
        // The server rolls back a transaction that was left open.
        if session.hasOpenTransaction { await session.close() }
        let (waiter, isClosed, mustShrink) = state.withLock { state -> (Waiter?, Bool, Bool) in
            if !state.isClosed, !state.waiters.isEmpty {
                return (state.waiters.removeFirst(), false, false)
            }
            guard parent == nil, !state.isClosed else {
                state.made -= 1
                return (nil, state.isClosed, false)
            }
            state.idle.append(Idle(session: session, since: .now))
            defer { state.isShrinking = true }
            return (nil, false, !state.isShrinking)
        }
        if let waiter { return waiter.reply.resume(returning: session) }
        if let parent { return await parent.returnSession(session) }
        if isClosed { await session.close() }
        if mustShrink { shrink() }
    }

    /// Closes unused sessions from time to time, while there are idle ones.
    private func shrink() {
        Task { [weak self, idleTime] in
            repeat {
                try await Task.sleep(for: idleTime / 2)
            } while await self?.closeUnused() ?? false
        }
    }

    /// Closes the sessions that have been idle for too long, and returns whether others are idle.
    private func closeUnused() async -> Bool {
        let bound = ContinuousClock.now - idleTime
        let (unused, isShrinking) = state.withLock { state in
            let unused = state.idle.prefix { $0.since <= bound }
            state.idle.removeFirst(unused.count)
            state.made -= unused.count
            state.isShrinking = !state.idle.isEmpty
            return (unused, state.isShrinking)
        }
        for idle in unused { await idle.session.close() }
        return isShrinking
    }
}
