import Synchronization
public import ErrandThreads

/// One connection to PostgreSQL, on a thread that may wait (``Threads/DedicatedThreadExecutor``).
///
/// It connects with its first statement, and again after a lost connection, but never inside a
/// transaction, because the rest would run without its beginning. A failure in the middle of an
/// answer closes the connection, so that no caller receives the answer of another. Statements are
/// prepared at their first use.
public actor Session {
    let settings: SessionSettings
    let thread: DedicatedThreadExecutor
    private let ownsThread: Bool
    private(set) var link: Link?
    var prepared = PreparedStatements()
    /// The settings for each transaction; nil without a pooler.
    var transactionSetup: TransactionSetup?
    var listening: Listening?
    /// The number of the open transaction of ``transaction(_:)`` or of a pool.
    var begun: UInt64?
    var lastBegun: UInt64 = 0
    /// The error because of which the open transaction cannot commit.
    var spoiled: ServerError?
    var isCopying = false
    private nonisolated let canceller = Mutex<Canceller?>(nil)
    private nonisolated let openTransaction = Atomic(false)

    /// The executor of its methods.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    /// Creates a session.
    ///
    /// It connects with its first statement.
    ///
    /// - Parameter thread: a thread shared with actors that do not wait for each other; nil for its
    ///   own.
    public init(_ settings: SessionSettings, thread: DedicatedThreadExecutor? = nil) {
        self.settings = settings
        self.thread = thread ?? DedicatedThreadExecutor(name: settings.name)
        ownsThread = thread == nil
    }

    deinit {
        if listening != nil { thread.watch(nil) }
        if ownsThread { thread.stop() }
    }

    /// Whether there is a connection, as far as known without asking the server.
    public var isConnected: Bool { link != nil }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { begun != nil || link.map { !$0.isIdle } ?? false }

    /// The value of ``isInTransaction`` after the last statement, readable from any thread.
    nonisolated var hasOpenTransaction: Bool { openTransaction.load(ordering: .acquiring) }

    /// The server's version as a number, 150020 for 15.20.
    ///
    /// - Throws: ``PostgresError/unreachable(_:)``
    public func serverVersion() throws(PostgresError) -> Int { try connected().serverVersion }

    /// Requests that the server stop the session's current statement, without waiting for its end.
    ///
    /// It may be called from any thread and takes as long as a connect. The statement fails with
    /// SQLSTATE 57014 unless it has already finished. In that case the request has no effect or
    /// stops the session's next statement, so the caller must know what the session runs.
    public nonisolated func cancelCurrent() {
        canceller.withLock(\.self)?.cancel()
    }

    /// Returns the host and port that the session is connected to.
    ///
    /// Connects if necessary.
    public func place() throws(PostgresError) -> String { try connected().place }

    // MARK: The connection

    /// The number of connections of all sessions of this process.
    package static let connections = ConnectionTally()

    /// Connects unless the session is connected.
    public func connect() throws(PostgresError) { _ = try connected() }

    /// Disconnects; a later statement connects again.
    public func close() { disconnect() }

    static let lostInTransaction = PostgresError.unreachable(
        "the connection was lost inside a transaction, which was rolled back: run it again")

    /// Returns the connection; connects if there is none, or if it was lost while idle.
    func connected() throws(PostgresError) -> Link {
        guard !isCopying else {
            throw .usage("a COPY is running on this session: end it first")
        }
        if let link {
            let wasIdle = link.isIdle
            if link.isAlive { return link }
            disconnect()
            guard wasIdle else { throw Self.lostInTransaction }
        }
        guard begun == nil else { throw Self.lostInTransaction }
        let settings = settings
        let fresh = try Self.connections.counting { () throws(PostgresError) in
            try Link(settings)
        }
        link = fresh
        canceller.withLock { $0 = fresh.canceller }
        prepared = PreparedStatements()
        do throws(PostgresError) {
            try findPooler(fresh)
            if transactionSetup == nil { try script(settings.script) }
            try startListening()
        } catch {
            disconnect()
            throw error
        }
        return fresh
    }

    func disconnect() {
        guard link != nil else { return }
        if listening != nil { thread.watch(nil) }
        canceller.withLock { $0 = nil }
        link = nil
        openTransaction.store(false, ordering: .releasing)
        reportReset()
    }

    /// Updates the state after each use of the connection.
    func settle() {
        guard let link else { return }
        openTransaction.store(!link.isIdle, ordering: .releasing)
        if !link.isSpoiled { spoiled = nil }
        deliverNotifications()
    }

    /// Applies an error of the server to the state of the connection and of the transaction.
    func failed(_ error: ServerError) -> PostgresError {
        guard !error.endsConnection else {
            disconnect()
            return .unreachable("the server ended the connection: \(error)")
        }
        // A standby, or a demoted primary: the next connect finds a server that accepts writes.
        if error.isOfReadOnlyServer, !settings.isReadOnly { disconnect() }
        if let link, link.isSpoiled, spoiled == nil { spoiled = error }
        settle()
        return .server(error)
    }
}
