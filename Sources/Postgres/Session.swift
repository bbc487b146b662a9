import Synchronization
public import Threads

/// How a session connects.
public struct SessionSettings: Sendable {
    /// As libpq takes it: a URI or `key=value` pairs, several hosts, TLS settings and all.
    public var url: String
    /// Shown in pg_stat_activity, unless the URL names another.
    public var name: String
    /// For each host.
    public var connectTimeout: Duration = .seconds(5)
    /// A server that is silent for so long in the middle of a statement is given up.
    public var timeLimit: Duration = .seconds(90)
    /// Statements that are run after each connect.
    public var setup: [String]

    /// Settings with production defaults.
    public init(_ url: String, name: String, setup: [String] = []) {
        self.url = url
        self.name = name
        self.setup = setup
    }
}

/// One connection to PostgreSQL, on a thread that may wait (``Threads/OwnThread``).
///
/// It connects with its first statement, and again after a break; never inside a transaction,
/// where the rest of it would be written without its beginning. Whatever goes wrong in the middle
/// of an answer ends the connection, so that the next caller never gets what was meant for this
/// one. Statements are prepared when they are first used.
public actor Session {
    private let settings: SessionSettings
    private let thread: OwnThread
    private let ownsThread: Bool
    private var link: Link?
    private var prepared: [String: String] = [:]
    private var preparedCount = 0
    /// Whether BEGIN was sent and its end not yet.
    public private(set) var isInTransaction = false
    private var listening: Listening?

    private struct Listening {
        var channels: [String]
        var onNotification: @Sendable (PostgresNotification) -> Void
        var onReset: @Sendable () -> Void
    }

    private static let preparedLimit = 200

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
        if ownsThread { thread.stop() }
    }

    /// Whether there is a connection, as far as is known without asking the server.
    public var isConnected: Bool { link != nil }

    // MARK: Statements

    /// Runs one statement.
    public func query(_ sql: String, _ parameters: [Parameter] = []) throws(PostgresError) -> Rows {
        try query(Statement(sql, parameters))
    }

    /// Runs one statement.
    public func query(_ statement: Statement) throws(PostgresError) -> Rows {
        let rows = try pipeline([statement])
        return rows[0]
    }

    /// Runs statements in one round trip; outside a transaction, in one of their own.
    ///
    /// - Throws: the first error; then none of them took effect.
    public func pipeline(_ statements: [Statement]) throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        do throws(PostgresError) {
            return try attempt(statements)
        } catch .server(let error)
            where ["26000", "0A000"].contains(error.sqlState) && !isInTransaction
        {
            // The table changed under a prepared statement, or someone deallocated it.
            prepared = [:]
            return try attempt(statements)
        }
    }

    private func attempt(_ statements: [Statement]) throws(PostgresError) -> [Rows] {
        let link = try connected()
        do throws(PostgresError) {
            try link.enterPipeline()
            var isPrepare: [Bool] = []
            var fresh: [String] = []
            for statement in statements {
                let (name, isNew) = preparedName(statement.sql)
                if isNew {
                    try link.sendPrepare(name, statement.sql, statement.parameters)
                    isPrepare.append(true)
                    fresh.append(statement.sql)
                }
                try link.sendPrepared(name, statement.parameters)
                isPrepare.append(false)
            }
            try link.sync()
            let (rows, failure) = try receive(isPrepare, from: link)
            try link.exitPipeline()
            deliverNotifications()
            guard let failure else { return rows }
            // Which of the new statements were prepared before the error is not worth tracking.
            for sql in fresh { prepared[sql] = nil }
            throw PostgresError.server(failure)
        } catch .server(let error) {
            if error.endsConnection { disconnect() }
            throw .server(error)
        } catch {
            disconnect()
            throw error
        }
    }

    /// Reads an answer for each statement of a pipeline, then that of its end.
    private func receive(
        _ isPrepare: [Bool], from link: Link
    ) throws(PostgresError) -> ([Rows], ServerError?) {
        var rows: [Rows] = []
        var failure: ServerError?
        for isPrepare in isPrepare {
            while let result = try link.nextResult() {
                switch result.kind {
                case .rows: if !isPrepare { rows.append(Rows(result)) }
                case .skipped: break
                default: failure = failure ?? result.error
                }
            }
        }
        guard let end = try link.nextResult(), end.kind == .pipelineEnd else {
            throw .unreachable(
                failure.map { "the connection was ended: \($0)" }
                    ?? "PostgreSQL's answers got out of step")
        }
        return (rows, failure)
    }

    private func preparedName(_ sql: String) -> (name: String, isNew: Bool) {
        if let name = prepared[sql] { return (name, false) }
        preparedCount += 1
        let name = "errand_\(preparedCount)"
        // Rather forget all than keep the server's memory for statements that never come again.
        if prepared.count >= Self.preparedLimit { prepared = [:] }
        prepared[sql] = name
        return (name, true)
    }

    /// Runs a text of several statements, without parameters or answers.
    public func script(_ sql: String) throws(PostgresError) {
        let link = try connected()
        do throws(PostgresError) {
            try link.sendScript(sql)
            var failure: ServerError?
            while let result = try link.nextResult() {
                if result.kind == .failed { failure = failure ?? result.error }
            }
            if let failure { throw PostgresError.server(failure) }
        } catch .server(let error) {
            if error.endsConnection { disconnect() }
            throw .server(error)
        } catch {
            disconnect()
            throw error
        }
    }

    // MARK: Transactions

    /// Runs several statements on this session's thread, with nobody else's between them.
    public func run<Value: Sendable>(
        _ body: @Sendable (isolated Session) throws -> Value
    ) rethrows -> Value {
        try body(self)
    }

    /// Runs statements in one transaction: all of them take effect, or, if it throws, none.
    public func transaction<Value: Sendable>(
        _ body: @Sendable (isolated Session) throws -> Value
    ) throws -> Value {
        try begin()
        let value: Value
        do { value = try body(self) } catch {
            rollback()
            throw error
        }
        try commit()
        return value
    }

    func begin() throws(PostgresError) {
        guard !isInTransaction else { throw .usage("this session is in a transaction already") }
        _ = try query("BEGIN")
        isInTransaction = true
    }

    func commit() throws(PostgresError) {
        defer { isInTransaction = false }
        guard link != nil else { throw Self.lostInTransaction }
        _ = try query("COMMIT")
    }

    func rollback() {
        defer { isInTransaction = false }
        guard link != nil else { return }
        // A connection that cannot even roll back is of no use; the server does it then.
        do { _ = try query("ROLLBACK") } catch { disconnect() }
    }

    private static let lostInTransaction = PostgresError.unreachable(
        "the connection was lost inside a transaction")

    // MARK: COPY

    /// Sends rows with COPY … FROM STDIN; returns how many the server took.
    ///
    /// - Parameter next: the next bytes, or nil at the end. If it throws, the COPY is undone.
    public func copyIn(_ sql: String, next: () throws -> [UInt8]?) throws -> Int {
        let link = try connected()
        do {
            try link.sendScript(sql)
            guard let start = try link.nextResult() else { throw Self.outOfStep }
            guard start.kind == .copyIn else {
                while try link.nextResult() != nil {}
                throw PostgresError.server(start.error)
            }
            var mistake: (any Error)?
            do {
                while let bytes = try next() { try link.putCopyData(bytes) }
            } catch let error as PostgresError where error.isConnectionLoss {
                throw error
            } catch {
                mistake = error
            }
            try link.endCopy(failing: mistake == nil ? nil : "the sender gave up")
            var failure: ServerError?
            var count = 0
            while let result = try link.nextResult() {
                if result.kind == .rows { count = result.affected }
                if result.kind == .failed { failure = result.error }
            }
            if let mistake { throw mistake }
            if let failure { throw PostgresError.server(failure) }
            return count
        } catch let error as PostgresError where error.isConnectionLoss {
            disconnect()
            throw error
        }
    }

    private static let outOfStep = PostgresError.unreachable(
        "PostgreSQL's answers got out of step")

    // MARK: Notifications

    /// Hears NOTIFY on channels from now on, also while nothing else is done here.
    ///
    /// - Parameters:
    ///   - onNotification: called on the session's thread.
    ///   - onReset: called when the connection was lost, and notices with it. The next statement
    ///     connects and listens again.
    public func listen(
        _ channels: [String],
        _ onNotification: @escaping @Sendable (PostgresNotification) -> Void,
        onReset: @escaping @Sendable () -> Void
    ) throws(PostgresError) {
        let isHeard = link != nil && listening?.channels == channels
        listening = Listening(
            channels: channels, onNotification: onNotification, onReset: onReset)
        if link == nil {
            _ = try connected()
        } else if !isHeard {
            try startListening()
        }
    }

    private func startListening() throws(PostgresError) {
        guard let listening, let link else { return }
        for channel in listening.channels {
            try script("LISTEN \"\(channel.replacing("\"", with: "\"\""))\"")
        }
        thread.watch(link.descriptor) { [weak self] in
            self?.assumeIsolated { $0.readNotifications() }
        }
    }

    /// Called when the idle connection has something to say.
    private func readNotifications() {
        guard let link else { return }
        guard link.consumeInput() else {
            disconnect()
            return
        }
        deliverNotifications()
    }

    private func deliverNotifications() {
        guard let link, let listening else { return }
        while let notification = link.nextNotification() { listening.onNotification(notification) }
    }

    // MARK: The connection

    /// Connects, unless there is a connection.
    public func connect() throws(PostgresError) { _ = try connected() }

    private func connected() throws(PostgresError) -> Link {
        if let link { return link }
        guard !isInTransaction else { throw Self.lostInTransaction }
        let fresh = try Link(settings)
        link = fresh
        prepared = [:]
        if !settings.setup.isEmpty {
            try script(settings.setup.joined(separator: ";\n"))
        }
        if listening != nil { try startListening() }
        return fresh
    }

    /// Disconnects; a later statement connects again.
    public func close() { disconnect() }

    private func disconnect() {
        guard link != nil else { return }
        if listening != nil { thread.watch(nil) }
        link = nil
        prepared = [:]
        listening?.onReset()
    }
}

extension PostgresError {
    var isConnectionLoss: Bool {
        if case .unreachable = self { true } else { false }
    }
}
