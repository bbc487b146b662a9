import CPostgres
import Glibc

/// The owner of one `PGconn`: the only place where libpq's connection is touched.
///
/// Not thread-safe, as libpq is not: `Session` calls it on its own thread alone. It never waits
/// without a limit, and what it throws as `.unreachable` means that it must not be used again.
@safe final class Link {
    private let connection: OpaquePointer
    /// How long one answer may take.
    private let limit: Duration

    /// Connects, by every host that the settings name.
    init(_ settings: SessionSettings) throws(PostgresError) {
        try Link.check(settings.url)
        limit = settings.timeLimit
        // What stands before "dbname" is a default, which the URL in it may override.
        let pairs: [(String, String)] = [
            ("connect_timeout", String(max(settings.connectTimeout.components.seconds, 2))),
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"), ("fallback_application_name", settings.name),
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
    }

    deinit { unsafe PQfinish(connection) }

    var descriptor: Int32 { unsafe PQsocket(connection) }

    private var lastMessage: String {
        guard let text = unsafe PQerrorMessage(connection) else { return "no reason was given" }
        return unsafe String(cString: text).split(whereSeparator: \.isNewline)
            .joined(separator: " ")
    }

    /// Refuses a malformed URL without repeating it: it may hold a password.
    private static func check(_ url: String) throws(PostgresError) {
        var message: UnsafeMutablePointer<CChar>?
        let options = unsafe PQconninfoParse(url, &message)
        defer {
            unsafe PQconninfoFree(options)
            unsafe PQfreemem(message)
        }
        guard unsafe options == nil else { return }
        throw .usage(
            "the database URL is malformed: expected postgresql://user@host:5432/database or "
                + "\"host=… dbname=…\"")
    }

    /// Why a connection was not made: libpq gives the server's words, and no SQLSTATE with them.
    private static func refusal(_ message: String) -> PostgresError {
        let causes = [
            ("does not exist", "3D000"), ("password authentication failed", "28P01"),
            ("no password supplied", "28P01"), ("no pg_hba.conf entry", "28000"),
            ("too many clients", "53300"), ("remaining connection slots", "53300"),
            ("too many connections", "53300"), ("starting up", "57P03"),
            ("shutting down", "57P03"), ("recovery mode", "57P03"),
        ]
        guard message.contains("FATAL"),
            let cause = causes.first(where: { message.contains($0.0) })
        else { return .unreachable(message) }
        return .server(ServerError(sqlState: cause.1, message: message))
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

    func sendPrepare(_ name: String, _ sql: String, _ parameters: [Parameter])
        throws(PostgresError)
    {
        let types = parameters.map(\.type)
        try sent(unsafe PQsendPrepare(connection, name, sql, Int32(types.count), types))
    }

    func sendPrepared(_ name: String, _ parameters: [Parameter]) throws(PostgresError) {
        let encoded = EncodedParameters(parameters)
        let code = unsafe encoded.withPointers { values, lengths, formats in
            unsafe PQsendQueryPrepared(
                connection, name, Int32(parameters.count), values, lengths, formats, 1)
        }
        try sent(code)
    }

    /// Several statements in one text, by the simple protocol.
    func sendScript(_ sql: String) throws(PostgresError) {
        try sent(unsafe PQsendQuery(connection, sql))
    }

    func enterPipeline() throws(PostgresError) { try sent(unsafe PQenterPipelineMode(connection)) }
    func exitPipeline() throws(PostgresError) { try sent(unsafe PQexitPipelineMode(connection)) }
    func sync() throws(PostgresError) { try sent(unsafe PQpipelineSync(connection)) }

    private func sent(_ code: Int32) throws(PostgresError) {
        guard code == 1 else { throw .unreachable("the connection was lost: \(lastMessage)") }
    }

    // MARK: Receiving

    /// The next answer; nil when a statement has no more.
    func nextResult() throws(PostgresError) -> ResultBox? {
        let deadline = ContinuousClock.now + limit
        var isFlushed = false
        while true {
            if !isFlushed {
                let code = unsafe PQflush(connection)
                guard code >= 0 else {
                    throw .unreachable("the connection was lost: \(lastMessage)")
                }
                isFlushed = code == 0
            }
            if isFlushed, unsafe PQisBusy(connection) == 0 { break }
            try wait(for: isFlushed ? POLLIN : POLLIN | POLLOUT, until: deadline)
            guard unsafe PQconsumeInput(connection) == 1 else {
                throw .unreachable("the connection was lost: \(lastMessage)")
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
                throw .unreachable("no answer from PostgreSQL within \(limit)")
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
        try putCopy {
            unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                    unsafe PQputCopyData(connection, text.baseAddress, Int32(text.count))
                }
            }
        }
    }

    /// Ends a COPY; with a text, so that the server drops what it got.
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
            case 0: try wait(for: POLLOUT, until: deadline)
            default: throw .unreachable("the connection was lost: \(lastMessage)")
            }
            _ = unsafe PQflush(connection)
        }
    }

    // MARK: Notifications

    /// Takes what has arrived unasked; false when the connection is lost.
    func consumeInput() -> Bool { unsafe PQconsumeInput(connection) == 1 }

    func nextNotification() -> PostgresNotification? {
        guard let notify = unsafe PQnotifies(connection) else { return nil }
        defer { unsafe PQfreemem(notify) }
        let value = unsafe notify.pointee
        return unsafe PostgresNotification(
            channel: String(cString: value.relname), payload: String(cString: value.extra))
    }
}

/// A message of NOTIFY.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel that it came over.
    public var channel: String
    /// What it says.
    public var payload: String
}

/// Parameters in one buffer, as libpq wants them.
private struct EncodedParameters {
    private var bytes: [UInt8] = []
    private var starts: [Int?] = []
    private var lengths: [Int32] = []

    init(_ parameters: [Parameter]) {
        for parameter in parameters {
            let start = bytes.count
            let isValue = parameter.encode(into: &bytes)
            starts.append(isValue ? start : nil)
            lengths.append(Int32(bytes.count - start))
        }
        // An empty value needs an address too: null stands for NULL.
        bytes.append(0)
    }

    func withPointers<Value>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Value
    ) -> Value {
        let formats = [Int32](repeating: 1, count: starts.count)
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { text in
                let values = unsafe starts.map { start in
                    unsafe start.flatMap { unsafe text.baseAddress?.advanced(by: $0) }
                }
                return unsafe body(values, lengths, formats)
            }
        }
    }
}
