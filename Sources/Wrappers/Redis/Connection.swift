import CErrandRedis
import Glibc
import Synchronization
public import ErrandThreads

/// One connection to Redis, on a thread that may wait (``Threads/DedicatedThreadExecutor``).
///
/// It connects with its first command, and again after a lost connection. A failure in the middle
/// of an answer closes the connection, so that no caller receives the answer of another.
public actor Connection {
    private let address: RedisAddress
    private let name: String
    private let connectTimeout: Duration
    private let replyTimeout: Duration
    private let thread: DedicatedThreadExecutor
    private let ownsThread: Bool
    private var sentinels: SentinelRound?
    /// The connected server, if sentinels named it.
    private var master: Endpoint?
    private var nextConfirmation = ContinuousClock.now
    private var context: Context?
    private var loadedScripts: [String: String] = [:]
    /// The number of unread answers to posted scripts.
    private var unread = 0
    /// The socket, for ``interrupt()``; the lock prevents closing it meanwhile.
    private nonisolated let socket = Mutex<Int32?>(nil)

    /// The executor of its methods.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor
    }

    /// Creates a connection.
    ///
    /// It connects with its first command.
    ///
    /// - Parameters:
    ///   - name: the name in `CLIENT LIST`, and of the thread.
    ///   - thread: a thread shared with actors that do not wait for each other; nil for its own.
    public init(
        _ address: RedisAddress, name: String, thread: DedicatedThreadExecutor? = nil,
        connectTimeout: Duration = .seconds(3), replyTimeout: Duration = .seconds(5)
    ) {
        self.address = address
        self.name = name
        self.connectTimeout = connectTimeout
        self.replyTimeout = replyTimeout
        self.thread = thread ?? DedicatedThreadExecutor(name: name)
        ownsThread = thread == nil
        if case .sentinels(let service) = address.place {
            sentinels = SentinelRound(service, connectTimeout: connectTimeout)
        }
        // hiredis 0.14 writes without MSG_NOSIGNAL: a lost connection must fail the call, not
        // terminate the process.
        _ = Self.ignoresBrokenPipes
    }

    private static let ignoresBrokenPipes: Bool = {
        _ = signal(SIGPIPE, SIG_IGN)
        return true
    }()

    deinit {
        if ownsThread { thread.stop() }
    }

    /// The number of this process's connections to Redis.
    package static let connections = ConnectionTally()

    // MARK: Commands

    /// Connects, logs in and selects the database, unless connected.
    ///
    /// With sentinels, each connect asks them for the master, and the server itself must confirm
    /// the role.
    public func connect() throws(RedisError) {
        guard context == nil else { return }
        guard sentinels != nil else { return try connect(to: address) }
        master = try sentinels?.find { endpoint throws(RedisError) in
            try connect(to: RedisAddress(address, at: endpoint))
            try expectMaster()
            return endpoint
        }
        nextConfirmation = .now + Self.confirmInterval
    }

    private static let confirmInterval = Duration.seconds(5)

    /// The connected server, if sentinels named it.
    public var masterPlace: String? { context == nil ? nil : master?.description }

    /// Disconnects from a server that is no longer the master for the sentinels.
    ///
    /// It asks them at most every five seconds, and otherwise returns at once.
    ///
    /// A former master that is partitioned together with this client would continue to answer.
    /// - Throws: `.unreachable` after disconnecting; the next command goes to the new master.
    public func confirmMaster() throws(RedisError) {
        guard context != nil, let master, sentinels != nil, nextConfirmation <= .now else {
            return
        }
        guard let named = try? sentinels?.find({ $0 }) else {
            // Without reachable sentinels, keep the connection, and do not ask again for a while.
            nextConfirmation = .now + Self.confirmInterval * 12
            return
        }
        nextConfirmation = .now + Self.confirmInterval
        guard named != master else { return }
        close()
        throw .unreachable("\(master) is no longer the master of \(address); \(named) is")
    }

    private func expectMaster() throws(RedisError) {
        switch try exchange([Command("ROLE")], Reply.copy)[0] {
        case .error(let text) where text.hasPrefix("NOPERM"): return
        case .error(let text):
            close()
            throw RedisError(answer: text, from: address)
        case let reply:
            let role = reply.array?.first?.text ?? "unknown"
            guard role != "master" else { return }
            close()
            throw .unreachable("its role is \(role), not master")
        }
    }

    private func connect(to address: RedisAddress) throws(RedisError) {
        let (connectTimeout, replyTimeout) = (connectTimeout, replyTimeout)
        let fresh = try Self.connections.counting { () throws(RedisError) in
            try Context(address, connectTimeout: connectTimeout, replyTimeout: replyTimeout)
        }
        socket.withLock { $0 = fresh.descriptor }
        context = fresh
        loadedScripts = [:]
        unread = 0
        var greeting: [Command] = []
        if let password = address.password {
            greeting.append(
                address.user.map { Command("AUTH", $0, password) } ?? Command("AUTH", password))
        }
        if address.database != 0 { greeting.append(Command("SELECT", String(address.database))) }
        greeting.append(Command("CLIENT", "SETNAME", name))
        for case .error(let text) in try exchange(greeting, Reply.copy) {
            close()
            throw RedisError(answer: text, from: address)
        }
    }

    /// Sends one command; throws an error reply.
    public func send(_ command: Command) throws(RedisError) -> Reply {
        try connect()
        return try checked(exchange([command], Reply.copy)[0])
    }

    /// Sends many commands at once; the result contains error replies.
    public func pipeline(_ commands: [Command]) throws(RedisError) -> [Reply] {
        guard !commands.isEmpty else { return [] }
        try connect()
        return try exchange(commands, Reply.copy)
    }

    /// Sends a command that may block in the server for up to `limit`.
    public func blocking(_ command: Command, upTo limit: Duration) throws(RedisError) -> Reply {
        try connect()
        try setReplyTimeout(limit + replyTimeout)
        let reply = try exchange([command], Reply.copy)[0]
        try setReplyTimeout(replyTimeout)
        return try checked(reply)
    }

    /// Runs a script.
    public func run(
        _ script: Script, keys: [String], arguments: Arguments
    ) throws(RedisError) -> Reply {
        try withLoaded(script) { sha throws(RedisError) in
            try checked(exchange([call(sha, keys, arguments)], Reply.copy)[0])
        }
    }

    /// Runs a script that returns numbers; nested arrays are flattened.
    public func runForIntegers(
        _ script: Script, keys: [String], arguments: Arguments
    ) throws(RedisError) -> [Int64] {
        try withLoaded(script) { sha throws(RedisError) in
            let command = call(sha, keys, arguments)
            return try exchange([command]) { reply throws(RedisError) in
                if case .error(let text) = Reply(head: reply) {
                    throw RedisError(answer: text, from: address)
                }
                var numbers: [Int64] = []
                try Reply.collectIntegers(reply, into: &numbers)
                return numbers
            }[0]
        }
    }

    /// Runs a script without waiting for its answer, which is read before that of the next command.
    ///
    /// - Throws: `RedisError`, also for the failure of an earlier posted script.
    public func post(
        _ script: Script, keys: [String], arguments: Arguments
    ) throws(RedisError) {
        try connect()
        try readPosted()
        guard let context, let sha = loadedScripts[script.source] else {
            _ = try run(script, keys: keys, arguments: arguments)
            return
        }
        context.append(call(sha, keys, arguments).bytes)
        guard context.flush() else { throw lost(context) }
        unread += 1
    }

    private func readPosted() throws(RedisError) {
        var failure: String?
        while unread > 0, let context {
            guard let answer = context.nextAnswer() else { throw lost(context) }
            unread -= 1
            if case .error(let text) = Reply(head: answer) { failure = text }
        }
        guard let failure else { return }
        if RedisError.isOfWrongServer(failure) { close() }
        // The server may have lost the script: load it again.
        loadedScripts = [:]
        throw RedisError(answer: failure, from: address)
    }

    private func call(_ sha: String, _ keys: [String], _ arguments: Arguments) -> Command {
        Command(["EVALSHA", sha, String(keys.count)] + keys, arguments)
    }

    private func withLoaded<Value>(
        _ script: Script, _ body: (String) throws(RedisError) -> Value
    ) throws(RedisError) -> Value {
        try connect()
        if let sha = loadedScripts[script.source] {
            do {
                return try body(sha)
            } catch .server(let text) where text.hasPrefix("NOSCRIPT") {
                // The server was restarted, or its scripts were flushed.
            }
        }
        let sha = try checked(exchange([Command("SCRIPT", "LOAD", script.source)], Reply.copy)[0])
        guard let text = sha.text else { throw .server("SCRIPT LOAD returned no SHA-1") }
        loadedScripts[script.source] = text
        return try body(text)
    }

    private func checked(_ reply: Reply) throws(RedisError) -> Reply {
        guard case .error(let text) = reply else { return reply }
        throw RedisError(answer: text, from: address)
    }

    // MARK: The connection

    /// Interrupts a blocking call, from any thread: it fails, and the next call connects again.
    public nonisolated func interrupt() {
        socket.withLock { descriptor in
            guard let descriptor else { return }
            _ = shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Disconnects; a later call connects again.
    public func close() {
        // Clear the number before closing the socket, so that an interrupt cannot affect a reused
        // descriptor.
        socket.withLock { $0 = nil }
        context = nil
    }

    private func setReplyTimeout(_ limit: Duration) throws(RedisError) {
        guard let context else { return }
        guard context.setReplyTimeout(limit) else {
            close()
            throw .unreachable("\(address): the socket does not accept a time limit")
        }
    }

    /// Sends commands and reads an answer for each; a failure closes the connection.
    private func exchange<Value>(
        _ commands: [Command], _ read: (Context.Answer) throws(RedisError) -> Value
    ) throws(RedisError) -> [Value] {
        guard let context else { throw .unreachable("\(address) is not connected") }
        if unread > 0 {
            // Its outcome does not matter here, but its answer comes first.
            do { try readPosted() } catch .unreachable(let text) {
                throw .unreachable(text)
            } catch {}
        }
        var values: [Value] = []
        values.reserveCapacity(commands.count)
        for command in commands { context.append(command.bytes) }
        var failure: RedisError?
        var isWrongServer = false
        for _ in commands {
            guard let answer = context.nextAnswer() else { throw lost(context) }
            if case .error(let text) = Reply(head: answer), RedisError.isOfWrongServer(text) {
                isWrongServer = true
            }
            // Read all answers, even after an error, because those of the next caller follow.
            do { values.append(try read(answer)) } catch { failure = failure ?? error }
        }
        // The next command connects to the new master.
        if isWrongServer { close() }
        if let failure { throw failure }
        return values
    }

    private func lost(_ context: Context) -> RedisError {
        let text = context.errorText
        close()
        return .unreachable(
            "\(address): the connection was lost: \(text); the next command connects again")
    }
}
