import CErrandPostgres
import Glibc

/// The owner of one `PGconn`: the only type that uses libpq's connection.
///
/// Like libpq, it is not thread-safe: `Session` uses it only on its own thread. It never waits
/// without a limit. After it throws `.unreachable`, it must not be used again.
@safe final class Link {
    private let connection: OpaquePointer
    /// The time limit of one answer.
    private let limit: Duration
    /// Stops the current statement, from any thread.
    private(set) var canceller: Canceller?
    /// Server and database, for error texts and listings.
    private(set) var place = ""

    /// Connects to the first available host of the settings.
    init(_ settings: SessionSettings) throws(PostgresError) {
        let asksForWriting = try Link.namesSeveralHosts(settings.url)
        limit = settings.timeLimit
        // The values before "dbname" are defaults, which the URL may override. A host that does not
        // respond is abandoned after about ten seconds.
        let pairs: [(String, String)] = [
            ("connect_timeout", String(max(settings.connectTimeout.components.seconds, 2))),
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "10000"), ("fallback_application_name", settings.name),
            ("target_session_attrs", asksForWriting ? "read-write" : ""),
            ("client_encoding", "UTF8"), ("dbname", settings.url),
        ]
        let opened = unsafe Link.withCStrings(pairs.map(\.0)) { names in
            unsafe Link.withCStrings(pairs.map(\.1)) { values in
                unsafe PQconnectdbParams(names, values, 1)
            }
        }
        guard let opened = unsafe opened else {
            throw .unreachable("no memory for a connection")
        }
        unsafe connection = unsafe opened
        unsafe errand_ignore_notices(opened)
        guard unsafe PQstatus(opened) == CONNECTION_OK else { throw Link.refusal(lastMessage) }
        _ = unsafe PQsetnonblocking(opened, 1)
        canceller = unsafe Canceller(opened)
        place = unsafe Link.place(opened)
    }

    deinit { unsafe PQfinish(connection) }

    var descriptor: Int32 { unsafe PQsocket(connection) }

    /// The server process of this connection, from the server's greeting.
    var processNumber: Int32 { unsafe PQbackendPID(connection) }

    var serverVersion: Int { Int(unsafe PQserverVersion(connection)) }

    // MARK: State

    /// Whether no transaction is open and no statement is running.
    var isIdle: Bool { unsafe PQtransactionStatus(connection) == PQTRANS_IDLE }

    /// Whether the open transaction has failed and can only be rolled back.
    var isSpoiled: Bool { unsafe PQtransactionStatus(connection) == PQTRANS_INERROR }

    /// Whether the next statement may be sent.
    var isReady: Bool {
        let status = unsafe PQtransactionStatus(connection)
        return status == PQTRANS_IDLE || status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// Whether the server has not closed the connection, as far as known without waiting.
    ///
    /// Valid between statements, and while a COPY is sent.
    var isAlive: Bool {
        var socket = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // A server sends a reason before it closes the connection: read up to the end of the
        // stream.
        while unsafe poll(&socket, 1, 0) > 0 {
            guard consumeInput() else { return false }
        }
        return unsafe PQstatus(connection) == CONNECTION_OK
    }

    private static func place(_ connection: OpaquePointer) -> String {
        let host = unsafe PQhost(connection).map { unsafe String(cString: $0) } ?? ""
        let database = unsafe PQdb(connection).map { unsafe String(cString: $0) } ?? ""
        let port = unsafe PQport(connection).map { unsafe String(cString: $0) } ?? ""
        return host.hasPrefix("/") ? "\(host)/\(database)" : "\(host):\(port)/\(database)"
    }

    /// The error for a connection that is unusable.
    private var loss: PostgresError {
        .unreachable("the connection to \(place) was lost: \(lastMessage)")
    }

    private var lastMessage: String {
        guard let text = unsafe PQerrorMessage(connection) else { return "no reason was given" }
        return unsafe String(cString: text).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }

    /// Returns whether a URL names several hosts.
    ///
    /// The error for a malformed URL does not repeat it, because it may contain a password.
    private static func namesSeveralHosts(_ url: String) throws(PostgresError) -> Bool {
        var message: UnsafeMutablePointer<CChar>?
        let options = unsafe PQconninfoParse(url, &message)
        defer {
            unsafe PQconninfoFree(options)
            unsafe PQfreemem(message)
        }
        guard let options = unsafe options else {
            throw .usage(
                "the database URL is malformed: expected postgresql://user@host:5432/database, "
                    + "with several hosts //user@host1:5432,host2:5432/database, or "
                    + "\"host=… dbname=…\"")
        }
        var place = unsafe options
        while let keyword = unsafe place.pointee.keyword {
            let name = unsafe String(cString: keyword)
            if name == "host" || name == "hostaddr", let value = unsafe place.pointee.val,
                unsafe String(cString: value).contains(",")
            {
                return true
            }
            unsafe place += 1
        }
        return false
    }

    /// Returns the error for a refused connection.
    ///
    /// libpq reports only the server's message, without its SQLSTATE.
    private static func refusal(_ message: String) -> PostgresError {
        let password = "check the user and the password in the database URL"
        let database = "create the database, or correct its name in the database URL"
        let busy = "raise max_connections, close other sessions, or put clients behind a pooler"
        let limit = "raise this CONNECTION LIMIT with ALTER ROLE or ALTER DATABASE"
        let causes: [(words: String, sqlState: String, hint: String?)] = [
            ("no password supplied", "28P01", password),
            ("password authentication failed", "28P01", password),
            ("FATAL: role ", "28000", password),
            ("no pg_hba.conf entry", "28000", "allow this client in the server's pg_hba.conf"),
            ("does not exist", "3D000", database),
            ("too many clients", "53300", busy), ("remaining connection slots", "53300", busy),
            ("too many connections for", "53300", limit), ("starting up", "57P03", nil),
            ("shutting down", "57P03", nil), ("recovery mode", "57P03", nil),
            ("No space left on device", "53100", nil), ("could not write", "53100", nil),
        ]
        guard message.contains("FATAL") || message.contains("no password supplied"),
            let cause = causes.first(where: { message.contains($0.words) })
        else { return .unreachable(message) }
        return .server(
            ServerError(
                sqlState: cause.sqlState, severity: "FATAL", message: message, hint: cause.hint))
    }

    private static func withCStrings<Value>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        let copies = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe UnsafePointer($0) } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                preconditionFailure("a list that ends with nil has a start")
            }
            return unsafe body(start)
        }
    }

    // MARK: Sending

    func sendPrepare(
        _ entry: PreparedStatements.Entry, _ sql: String
    ) throws(PostgresError) {
        try sent(
            unsafe PQsendPrepare(
                connection, entry.name, sql, Int32(entry.types.count), entry.types))
    }

    func sendPrepared(_ name: String, _ parameters: [Parameter]) throws(PostgresError) {
        let encoded = try EncodedParameters(parameters)
        let code = encoded.withPointers { values, lengths, formats in
            unsafe PQsendQueryPrepared(
                connection, name, Int32(parameters.count), values, lengths, formats, 1)
        }
        try sent(code)
    }

    func sendUnprepared(_ statement: Statement) throws(PostgresError) {
        let encoded = try EncodedParameters(statement.parameters)
        let types = statement.parameters.map(\.type)
        let code = encoded.withPointers { values, lengths, formats in
            unsafe PQsendQueryParams(
                connection, statement.sql, Int32(types.count), types, values, lengths, formats, 1)
        }
        try sent(code)
    }

    /// Sends several statements in one text, by the simple protocol.
    func sendScript(_ sql: String) throws(PostgresError) {
        try sent(unsafe PQsendQuery(connection, sql))
    }

    func enterPipeline() throws(PostgresError) { try sent(unsafe PQenterPipelineMode(connection)) }
    func exitPipeline() throws(PostgresError) { try sent(unsafe PQexitPipelineMode(connection)) }
    func sync() throws(PostgresError) { try sent(unsafe PQpipelineSync(connection)) }

    private func sent(_ code: Int32) throws(PostgresError) {
        guard code == 1 else { throw loss }
    }

    // MARK: Receiving

    /// Returns the next result of a statement; nil after the last.
    func nextResult() throws(PostgresError) -> ResultBox? {
        let deadline = ContinuousClock.now + limit
        var isFlushed = false
        while true {
            if !isFlushed {
                let code = unsafe PQflush(connection)
                guard code >= 0 else {
                    throw loss
                }
                isFlushed = code == 0
            }
            if isFlushed, unsafe PQisBusy(connection) == 0 { break }
            try wait(for: isFlushed ? POLLIN : POLLIN | POLLOUT, until: deadline)
            guard unsafe PQconsumeInput(connection) == 1 else {
                throw loss
            }
        }
        guard let result = unsafe PQgetResult(connection) else { return nil }
        return unsafe ResultBox(result)
    }

    private func wait(
        for events: Int32, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        while true {
            let left = deadline - .now
            guard left > .zero else {
                throw .unreachable("no answer from \(place) within \(limit)")
            }
            let (seconds, attoseconds) = left.components
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
            var socket = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let ready = unsafe poll(&socket, 1, Int32(min(milliseconds, 60_000)))
            if ready > 0 { return }
            if ready < 0, errno != EINTR {
                throw .unreachable("the connection's socket failed: error \(errno)")
            }
        }
    }

    // MARK: COPY

    func putCopyData(_ bytes: [UInt8]) throws(PostgresError) {
        // libpq reports a failed write only when an answer is read: without this check, all rows
        // would be sent for nothing.
        guard isAlive else { throw loss }
        try putCopy {
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                    unsafe PQputCopyData(connection, text.baseAddress, Int32(text.count))
                }
            }
        }
    }

    /// Ends a COPY; with a reason, it fails and the server discards the rows.
    func endCopy(failing reason: String?) throws(PostgresError) {
        try putCopy {
            guard let reason else { return unsafe PQputCopyEnd(connection, nil) }
            return unsafe PQputCopyEnd(connection, reason)
        }
    }

    private func putCopy(_ put: () -> Int32) throws(PostgresError) {
        let deadline = ContinuousClock.now + limit
        while true {
            switch put() {
            case 1:
                _ = unsafe PQflush(connection)
                return
            case 0:
                // Read too: a server that cannot send its notices accepts no rows.
                try wait(for: POLLIN | POLLOUT, until: deadline)
                guard consumeInput() else { throw loss }
            default: throw loss
            }
            _ = unsafe PQflush(connection)
        }
    }

    /// Returns the next row of a COPY … TO STDOUT; nil at its end, which a result follows.
    func getCopyData() throws(PostgresError) -> [UInt8]? {
        let deadline = ContinuousClock.now + limit
        while true {
            var start: UnsafeMutablePointer<CChar>?
            let count = unsafe PQgetCopyData(connection, &start, 1)
            switch count {
            case -1: return nil
            case 0:
                try wait(for: POLLIN, until: deadline)
                guard consumeInput() else { throw loss }
            case 1...:
                defer { unsafe PQfreemem(start) }
                return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
            default: throw loss
            }
        }
    }

    // MARK: Notifications

    /// Reads notifications that have arrived; returns false if the connection is lost.
    func consumeInput() -> Bool { unsafe PQconsumeInput(connection) == 1 }

    func nextNotification() -> PostgresNotification? {
        guard let notify = unsafe PQnotifies(connection) else { return nil }
        defer { unsafe PQfreemem(notify) }
        let value = unsafe notify.pointee
        return unsafe PostgresNotification(
            channel: String(cString: value.relname), payload: String(cString: value.extra))
    }
}
