import CErrandMicroHTTPD
import Glibc
import Synchronization

/// A small HTTP/1.1 server for probes and scrapes: GET and HEAD, with responses from memory.
///
/// libmicrohttpd runs on one thread of its own. The number of connections, in all and of one
/// address, their memory and their idle time are limited: half requests of one client do not keep
/// the probes of another from being answered.
@safe package final class HTTPListener: Sendable {
    /// The limits of a server.
    package struct Limits: Sendable {
        /// The maximum number of open connections; more wait in the system's queue.
        package var connections = 128
        /// The maximum number of open connections of one address; more are closed at once.
        package var connectionsPerAddress = 16
        /// The seconds without a byte after which a connection is closed before the header of its
        /// first request is complete.
        package var headerSeconds = 2
        /// The seconds after which an idle connection is closed.
        package var idleSeconds = 10
        /// The maximum number of bytes of memory for a connection, including the request's header.
        package var memory = 16 * 1024

        /// Creates limits with production defaults.
        package init() {}
    }

    private struct State {
        var isStopping = false
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var last: UInt64 = 0
    }

    /// The actual port.
    package let port: UInt16
    private let handler: @Sendable (HTTPServerRequest) -> HTTPServerReply
    fileprivate let idleSeconds: UInt32
    private let state = Mutex(State())
    private let daemon = Mutex<Daemon?>(nil)

    /// Starts to listen.
    ///
    /// - Parameter handler: called on the server's thread; it must not wait.
    /// - Throws: why it cannot listen at the address.
    package init(
        _ address: ListenAddress, limits: Limits = Limits(),
        handler: @escaping @Sendable (HTTPServerRequest) -> HTTPServerReply
    ) throws(HTTPServerFailure) {
        self.handler = handler
        idleSeconds = UInt32(limits.idleSeconds)
        let socket = try ListeningSocket(address)
        port = socket.port
        // It may call back as soon as it runs: nothing of this object may be set after this.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let started = unsafe errand_http_start(
            socket.descriptor, UInt32(limits.connections), UInt32(limits.connectionsPerAddress),
            UInt32(limits.headerSeconds), limits.memory, takeRequest, forgetRequest, context)
        guard let started = unsafe started else {
            close(socket.descriptor)
            throw HTTPServerFailure(
                description: "cannot serve \(address): the HTTP server could not be started; "
                    + "check the free memory and the limit of descriptors")
        }
        daemon.withLock { $0 = unsafe Daemon(pointer: started) }
    }

    deinit { precondition(daemon.withLock { $0 == nil }, "the server was not stopped") }

    /// Stops: accepts no more requests, cancels and awaits running ones, and closes connections.
    package func stop() async {
        let tasks = state.withLock { state in
            state.isStopping = true
            return state.tasks.values.map(\.self)
        }
        for task in tasks { task.cancel() }
        // The daemon must not be stopped with suspended connections: each task resumes its own.
        for task in tasks { await task.value }
        let daemon = daemon.withLock { daemon -> Daemon? in
            defer { daemon = nil }
            return daemon
        }
        if let daemon { unsafe MHD_stop_daemon(daemon.pointer) }
    }

    /// Sends the response of a request, or suspends its connection until there is one.
    fileprivate func serve(_ request: Request, on connection: OpaquePointer) -> MHD_Result {
        if let answer = request.answer.withLock(\.self) {
            return unsafe Self.send(answer, on: connection)
        }
        switch handler(unsafe Self.question(request, connection)) {
        case .now(let answer): return unsafe Self.send(answer, on: connection)
        case .later(let work):
            let waiting = unsafe WaitingConnection(pointer: connection)
            let isTaken = state.withLock { state in
                guard !state.isStopping else { return false }
                state.last += 1
                let number = state.last
                unsafe MHD_suspend_connection(waiting.pointer)
                state.tasks[number] = Task {
                    let answer = await work()
                    request.answer.withLock { $0 = answer }
                    unsafe MHD_resume_connection(waiting.pointer)
                    self.state.withLock { $0.tasks[number] = nil }
                }
                return true
            }
            guard !isTaken else { return .YES }
            return unsafe Self.send(HTTPServerResponse(503, "stopping\n"), on: connection)
        }
    }

    private static func question(
        _ request: Request, _ connection: OpaquePointer
    ) -> HTTPServerRequest {
        let accept = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, "Accept")
        return HTTPServerRequest(
            path: request.path, accept: unsafe accept.map { unsafe String(cString: $0) } ?? "")
    }

    fileprivate static func send(
        _ answer: HTTPServerResponse, on connection: OpaquePointer
    ) -> MHD_Result {
        var body = answer.body
        let response = unsafe body.withUnsafeMutableBytes { bytes in
            unsafe MHD_create_response_from_buffer(
                bytes.count, bytes.baseAddress, .RESPMEM_MUST_COPY)
        }
        guard let response = unsafe response else { return .NO }
        defer { unsafe MHD_destroy_response(response) }
        unsafe MHD_add_response_header(response, "Content-Type", answer.type)
        unsafe MHD_add_response_header(response, "Cache-Control", "no-store")
        if answer.status == 405 { unsafe MHD_add_response_header(response, "Allow", "GET, HEAD") }
        return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
    }
}

/// The daemon of libmicrohttpd, which may be stopped from any thread but its own.
@safe private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer

    init(pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }
}

/// A suspended connection, valid until it is resumed, which is allowed from any thread.
@safe private struct WaitingConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    init(pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }
}

/// A request in progress, owned by libmicrohttpd.
private final class Request: Sendable {
    let path: String
    let answer = Mutex<HTTPServerResponse?>(nil)

    init(path: String) { self.path = path }
}

/// Called by libmicrohttpd after the header of a request, after parts of its body and at its end,
/// and after its connection was resumed.
private let takeRequest: MHD_AccessHandlerCallback = {
    context, connection, url, method, _, _, bodySize, place in
    guard let context = unsafe context, let connection = unsafe connection,
        let place = unsafe place, let bodySize = unsafe bodySize
    else { return .NO }
    let server = unsafe Unmanaged<HTTPListener>.fromOpaque(context).takeUnretainedValue()
    if let known = unsafe place.pointee {
        // Requests with a body are refused.
        guard unsafe bodySize.pointee == 0 else { return .NO }
        let request = unsafe Unmanaged<Request>.fromOpaque(known).takeUnretainedValue()
        return unsafe server.serve(request, on: connection)
    }
    // The header is complete: the client is no half-open one.
    unsafe errand_http_set_idle(connection, server.idleSeconds)
    let word = unsafe method.map { unsafe String(cString: $0) }
    guard word == "GET" || word == "HEAD" else {
        return unsafe HTTPListener.send(
            HTTPServerResponse(405, "only GET and HEAD\n"), on: connection)
    }
    let request = Request(path: unsafe url.map { unsafe String(cString: $0) } ?? "/")
    unsafe place.pointee = unsafe Unmanaged.passRetained(request).toOpaque()
    return .YES
}

/// Called by libmicrohttpd at the end of a request, whether or not its response was received.
private let forgetRequest: MHD_RequestCompletedCallback = { _, _, place, _ in
    guard let place = unsafe place, let known = unsafe place.pointee else { return }
    unsafe Unmanaged<Request>.fromOpaque(known).release()
    unsafe place.pointee = nil
}
