import CErrandRedis
import Glibc
import Synchronization
public import ErrandThreads

/// One connection to Redis, on a thread that may wait (``Threads/OwnThread``).
///
/// It connects with its first command and again after a break. Whatever goes wrong in the middle
/// of an answer ends the connection, so that the next caller never gets what was meant for this
/// one.
public actor Connection {
    private let address: RedisAddress
    private let name: String
    private let connectTimeout: Duration
    private let replyTimeout: Duration
    private let thread: OwnThread
    private let ownsThread: Bool
    private var sentinels: SentinelRound?
    /// The server that it is connected to, where sentinels named it.
    private var master: Endpoint?
    private var nextConfirmation = ContinuousClock.now
    private var context: Context?
    private var loadedScripts: [String: String] = [:]
    /// Answers to what was posted, not read yet.
    private var unread = 0
    /// The socket, for ``interrupt()``; the lock keeps it from being closed meanwhile.
    private nonisolated let socket = Mutex<Int32?>(nil)

    /// The thread that its methods run on.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.executor
    }

    /// A connection that is made when it is first needed.
    ///
    /// - Parameters:
    ///   - name: shown by `CLIENT LIST`, and by debuggers as the thread's.
    ///   - thread: shared with other actors that never wait for each other; its own by default.
    public init(
        _ address: RedisAddress, name: String, thread: OwnThread? = nil,
        connectTimeout: Duration = .seconds(3), replyTimeout: Duration = .seconds(5)
    ) {
        self.address = address
        self.name = name
        self.connectTimeout = connectTimeout
        self.replyTimeout = replyTimeout
        self.thread = thread ?? OwnThread(name: name)
        ownsThread = thread == nil
        if case .sentinels(let service) = address.place {
            sentinels = SentinelRound(service, connectTimeout: connectTimeout)
        }
        // hiredis 0.14 writes without MSG_NOSIGNAL: a server that went away must be an error of
        // the call and not the end of the process.
        _ = Self.ignoresBrokenPipes
    }

    private static let ignoresBrokenPipes: Bool = {
        _ = signal(SIGPIPE, SIG_IGN)
        return true
    }()

    deinit {
        if ownsThread { thread.stop() }
    }

    /// The connections to Redis of this process.
    package static let connections = ConnectionTally()

    // MARK: Commands

    /// Connects, signs in and selects the database, unless that is done.
    ///
    /// Behind sentinels these are asked each time, and the server itself must say that it is a
    /// master.
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

    /// Where the connection leads, if sentinels named the place.
    public var masterPlace: String? { context == nil ? nil : master?.description }

    /// Leaves a server that the sentinels do not call the master any more; asks them every five
    /// seconds at most, and otherwise returns at once.
    ///
    /// A server that was cut off together with this client goes on answering, and hears of
    /// nothing.
    /// - Throws: `.unreachable` when it is left; the next command goes to the new one.
    public func confirmMaster() throws(RedisError) {
        guard context != nil, let master, sentinels != nil, nextConfirmation <= .now else {
            return
        }
        guard let named = try? sentinels?.find({ $0 }) else {
            // Who asks nobody learns nothing: what is there goes on as it is, and is not held up
            // by sentinels that are gone.
            nextConfirmation = .now + Self.confirmInterval * 12
            return
        }
        nextConfirmation = .now + Self.confirmInterval
        guard named != master else { return }
        close()
        throw .unreachable("\(master) is not the master of \(address) any more, \(named) is")
    }

    private func expectMaster() throws(RedisError) {
        switch try exchange([Command("ROLE")], Reply.copy)[0] {
        case .error(let text) where text.hasPrefix("NOPERM"): return
        case .error(let text):
            close()
            throw RedisError(answer: text, from: address)
        case let reply:
            let role = reply.array?.first?.text ?? "nothing known"
            guard role != "master" else { return }
            close()
            throw .unreachable("it says of itself that it is \(role), no master")
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

    /// Sends one command; an error answer is thrown.
    public func send(_ command: Command) throws(RedisError) -> Reply {
        try connect()
        return try checked(exchange([command], Reply.copy)[0])
    }

    /// Sends many commands at once; error answers stand in their places.
    public func pipeline(_ commands: [Command]) throws(RedisError) -> [Reply] {
        guard !commands.isEmpty else { return [] }
        try connect()
        return try exchange(commands, Reply.copy)
    }

    /// Sends a command that may wait in the server for up to `limit`.
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

    /// Runs a script whose answer is numbers, nested arrays flattened.
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

    /// Runs a script without waiting for its answer, which is read ahead of the next command's.
    ///
    /// - Throws: also what went wrong with one that was posted earlier.
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
        // The server may have forgotten the script: it is loaded again.
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
                // The server was restarted or its scripts flushed.
            }
        }
        let sha = try checked(exchange([Command("SCRIPT", "LOAD", script.source)], Reply.copy)[0])
        guard let text = sha.text else { throw .server("SCRIPT LOAD gave no SHA-1") }
        loadedScripts[script.source] = text
        return try body(text)
    }

    private func checked(_ reply: Reply) throws(RedisError) -> Reply {
        guard case .error(let text) = reply else { return reply }
        throw RedisError(answer: text, from: address)
    }

    // MARK: The connection

    /// Ends a blocking call from any thread: it fails, and the next call connects anew.
    public nonisolated func interrupt() {
        socket.withLock { descriptor in
            guard let descriptor else { return }
            _ = shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Disconnects; a later call connects again.
    public func close() {
        // First the number, then the socket: no interrupt may hit a descriptor that was reused.
        socket.withLock { $0 = nil }
        context = nil
    }

    private func setReplyTimeout(_ limit: Duration) throws(RedisError) {
        guard let context else { return }
        guard context.setReplyTimeout(limit) else {
            close()
            throw .unreachable("\(address): the socket takes no time limit")
        }
    }

    /// Sends commands and reads an answer for each; any trouble ends the connection.
    private func exchange<Value>(
        _ commands: [Command], _ read: (Context.Answer) throws(RedisError) -> Value
    ) throws(RedisError) -> [Value] {
        guard let context else { throw .unreachable("\(address) is not connected") }
        if unread > 0 {
            // What became of it is of no concern here, but its answer stands before ours.
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
            // All answers are read even when one cannot be used: the next caller's come behind.
            do { values.append(try read(answer)) } catch { failure = failure ?? error }
        }
        // With the next command another one is looked for.
        if isWrongServer { close() }
        if let failure { throw failure }
        return values
    }

    private func lost(_ context: Context) -> RedisError {
        let text = context.errorText
        close()
        return .unreachable(
            "\(address): the connection was lost: \(text); it is made again with the next command")
    }
}
