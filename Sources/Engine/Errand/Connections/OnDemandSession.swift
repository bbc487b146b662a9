import ErrandPostgres
import Synchronization

/// A session of a worker that is connected only while it is in use.
///
/// An idle worker keeps one connection, its reserved one. Statements run over it while this session
/// is not connected, so that the first job after a silence need not wait, and that a server which
/// accepts no more connections does not stop the worker. They run there under the settings of this
/// session.
final class OnDemandSession: Sendable {
    private struct State {
        var lastUse: ContinuousClock.Instant?
        /// Whether the session was used again within its idle time, so that connecting is worth it.
        var isWanted = false
        var nextAttempt = ContinuousClock.now
        var isTended = false
        var isClosed = false
    }

    /// Nil if all statements run over the reserved session.
    private let session: Session?
    private let reserved: Session
    private let settings: Statement
    private let idleTime: Duration
    private let log: Log
    private let state = Mutex(State())
    private let throttle = LogThrottle()

    /// The shortest pause after a failed attempt to connect.
    private static let retryInterval = Duration.seconds(5)

    /// Creates a session that is not connected.
    ///
    /// - Parameters:
    ///   - settings: gives a transaction of the reserved session the settings of this one.
    ///   - idleTime: how long it stays connected without use.
    init(
        _ session: Session?, reserved: Session, settings: Statement, idleTime: Duration, log: Log
    ) {
        self.session = session
        self.reserved = reserved
        self.settings = settings
        self.idleTime = idleTime
        self.log = log
    }

    /// Runs one statement.
    func query(_ sql: String, _ parameters: [Parameter]) async throws(PostgresError) -> Rows {
        try await pipeline([Statement(sql, parameters)])[0]
    }

    /// Runs statements in one round trip, in one transaction.
    func pipeline(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        guard let session else { return try await overReserved(statements) }
        let wasRecent = state.withLock { state in
            defer { state.lastUse = .now }
            return state.lastUse.map { .now - $0 < idleTime } ?? false
        }
        if let rows = try await session.pipelineIfConnected(statements) { return rows }
        if wasRecent { state.withLock { $0.isWanted = true } }
        return try await overReserved(statements)
    }

    private func overReserved(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        Array(try await reserved.pipeline([settings] + statements).dropFirst())
    }

    /// Connects if the session is used again and again, and closes it if it is idle.
    ///
    /// Called after statements, so that none of them waits for the connection.
    func tend() async {
        await closeIfIdle()
        await open()
    }

    /// Does the same as ``tend()`` in the background, from now on until the session is closed.
    ///
    /// Only for a session with a thread of its own: others tend it on their thread.
    func tendSoon() {
        let isFirst = state.withLock { state in
            guard state.isWanted, !state.isTended else { return false }
            state.isTended = true
            return true
        }
        guard isFirst else { return }
        Task { [weak self, idleTime] in
            repeat {
                await self?.open()
                try await Task.sleep(for: min(idleTime / 2, Self.retryInterval))
            } while await self?.closeIfIdle() == false
            self?.state.withLock { $0.isTended = false }
        }
    }

    func close() async {
        state.withLock { $0.isClosed = true }
        await session?.close()
    }

    private func open() async {
        guard let session else { return }
        let isDue = state.withLock { state in
            guard state.isWanted, !state.isClosed, .now >= state.nextAttempt else { return false }
            state.isWanted = false
            return true
        }
        guard isDue else { return }
        let started = ContinuousClock.now
        do {
            try await session.connect()
            state.withLock { $0.isWanted = false }
            throttle.resolved(log, "the worker has the connections again that it needs")
        } catch {
            // Connecting occupies the session's thread, in a claimer that of its pops, too.
            let pause = max(Self.retryInterval, (.now - started) * 10)
            state.withLock { $0.nextAttempt = .now + pause }
            throttle.warn(
                log, "the worker continues over its reserved connection, more slowly: \(error)")
        }
    }

    /// Closes the session if it has not been used for its idle time; returns whether it has not.
    @discardableResult
    private func closeIfIdle() async -> Bool {
        guard let session else { return true }
        return await session.run { session in
            let isIdle = state.withLock { state in
                state.lastUse.map { .now - $0 >= idleTime } ?? true
            }
            if isIdle { session.close() }
            return isIdle
        }
    }
}
