import Synchronization
public import ErrandThreads

/// One connection to PostgreSQL, on a thread that may wait (``Threads/OwnThread``).
///
/// It connects with its first statement, and again after a break; never inside a transaction,
/// where the rest of it would be written without its beginning. Whatever goes wrong in the middle
/// of an answer ends the connection, so that the next caller never gets what was meant for this
/// one. Statements are prepared when they are first used.
public actor Session {
    let settings: SessionSettings
    let thread: OwnThread
    private let ownsThread: Bool
    private(set) var link: Link?
    var prepared = PreparedStatements()
    /// Set behind a pooler that lends server processes for a transaction.
    var transactionSetup: TransactionSetup?
    var listening: Listening?
    /// The number of the transaction that ``transaction(_:)`` or a pool has begun here.
    var begun: UInt64?
    var lastBegun: UInt64 = 0
    /// Why the open transaction can no longer commit.
    var spoiled: ServerError?
    var isCopying = false
    private nonisolated let canceller = Mutex<Canceller?>(nil)
    private nonisolated let openTransaction = Atomic(false)

    /// The thread that its methods run on.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.executor }

    /// A session that connects when it is first needed.
    ///
    /// - Parameter thread: shared with other actors that never wait for each other; its own by
    ///   default.
    public init(_ settings: SessionSettings, thread: OwnThread? = nil) {
        self.settings = settings
        self.thread = thread ?? OwnThread(name: settings.name)
        ownsThread = thread == nil
    }

    deinit {
        if listening != nil { thread.watch(nil) }
        if ownsThread { thread.stop() }
    }

    /// Whether there is a connection, as far as is known without asking the server.
    public var isConnected: Bool { link != nil }

    /// Whether a transaction is open, however it was begun.
    public var isInTransaction: Bool { begun != nil || link.map { !$0.isIdle } ?? false }

    /// As ``isInTransaction`` at the end of the last statement, from any thread.
    nonisolated var hasOpenTransaction: Bool { openTransaction.load(ordering: .acquiring) }

    /// The server's version as a number, 150020 for 15.20.
    ///
    /// - Throws: ``PostgresError/unreachable(_:)``
    public func serverVersion() throws(PostgresError) -> Int { try connected().serverVersion }

    /// Asks the server to stop what this session has under way; does not wait for its end.
    ///
    /// May be called from any thread, and takes the time of a connect there. The statement then
    /// fails with SQLSTATE 57014, unless it was done already: then nothing happens, or whatever
    /// the session does next is stopped, so the caller must know what is under way.
    public nonisolated func cancelCurrent() {
        canceller.withLock(\.self)?.cancel()
    }

    /// Which host and port of those in the URL it is connected to; connects to find out.
    public func place() throws(PostgresError) -> String { try connected().place }

    // MARK: The connection

    /// The connections of all sessions of this process.
    package static let connections = ConnectionTally()

    /// Connects, unless there is a connection.
    public func connect() throws(PostgresError) { _ = try connected() }

    /// Disconnects; a later statement connects again.
    public func close() { disconnect() }

    static let lostInTransaction = PostgresError.unreachable(
        "the connection was lost inside a transaction, which is undone: run it again")

    /// The connection, made now if there is none or if it broke while nothing was under way.
    func connected() throws(PostgresError) -> Link {
        guard !isCopying else {
            throw .usage("a COPY is under way on this session: end it first")
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
        tellReset()
    }

    /// To be called at the end of whatever was done with the connection.
    func settle() {
        guard let link else { return }
        openTransaction.store(!link.isIdle, ordering: .releasing)
        if !link.isSpoiled { spoiled = nil }
        deliverNotifications()
    }

    /// What an error of the server means for the connection and the transaction.
    func failed(_ error: ServerError) -> PostgresError {
        guard !error.endsConnection else {
            disconnect()
            return .unreachable("the server ended the connection: \(error)")
        }
        // A standby, or a primary that was demoted: the next connect looks for one that writes.
        if error.isOfReadOnlyServer, !settings.isReadOnly { disconnect() }
        if let link, link.isSpoiled, spoiled == nil { spoiled = error }
        settle()
        return .server(error)
    }
}
