import Synchronization

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
        var cancelled: Set<UInt64> = []
        var isClosed = false
    }

    private let settings: SessionSettings
    private let limit: Int
    private let state = Mutex(State())

    /// A pool that makes its sessions when they are first needed.
    public init(_ settings: SessionSettings, limit: Int) {
        self.settings = settings
        self.limit = limit
    }

    /// Lends a session for as long as `body` runs.
    public func withSession<Value: Sendable>(
        _ body: (Session) async throws -> Value
    ) async throws -> Value {
        let session = try await take()
        do {
            let value = try await body(session)
            giveBack(session)
            return value
        } catch {
            giveBack(session)
            throw error
        }
    }

    /// Runs a transaction: it commits when `body` returns, and rolls back when it throws.
    public func transaction<Value: Sendable>(
        _ body: (Transaction) async throws -> Value
    ) async throws -> Value {
        try await withSession { session in
            try await session.begin()
            let transaction = Transaction(session: session)
            let value: Value
            do { value = try await body(transaction) } catch {
                transaction.end()
                await session.rollback()
                throw error
            }
            transaction.end()
            try await session.commit()
            return value
        }
    }

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
            return .wait(state.nextWaiter)
        }
        switch answer {
        case .lend(let session): return session
        case .make: return Session(settings)
        case .closed: throw Self.closed
        case .wait(let id): return try await wait(id)
        }
    }

    private func wait(_ id: UInt64) async throws -> Session {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reply in
                let answer = state.withLock { state -> Result<Session, any Error>? in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
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
                    state.cancelled.insert(id)
                    return nil
                }
                return state.waiters.remove(at: place)
            }
            waiter?.reply.resume(throwing: CancellationError())
        }
    }

    private func giveBack(_ session: Session) {
        let (waiter, isClosed) = state.withLock { state -> (Waiter?, Bool) in
            if state.isClosed { return (nil, true) }
            guard state.waiters.isEmpty else { return (state.waiters.removeFirst(), false) }
            state.idle.append(session)
            return (nil, false)
        }
        waiter?.reply.resume(returning: session)
        if isClosed { Task { await session.close() } }
    }
}

/// A transaction that is open on a lent session; of no use once its closure has returned.
public final class Transaction: Sendable {
    private let session: Session
    private let isOver = Mutex(false)

    init(session: Session) { self.session = session }

    func end() { isOver.withLock { $0 = true } }

    private func check() throws(PostgresError) {
        if isOver.withLock({ $0 }) {
            throw .usage("the transaction is over: use it only inside its closure")
        }
    }

    /// Runs one statement.
    @discardableResult
    public func query(
        _ sql: String, _ parameters: [Parameter] = []
    ) async throws(PostgresError) -> Rows {
        try check()
        return try await session.query(sql, parameters)
    }

    /// Runs statements in one round trip.
    @discardableResult
    public func pipeline(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        try check()
        return try await session.pipeline(statements)
    }
}
