import CErrandCurl
import Glibc

/// A libcurl easy handle with the current request and the response received so far; reused for
/// later requests.
///
/// Not `Sendable`: only the thread of its loop uses it. libcurl holds an unmanaged pointer to it in
/// the callbacks' contexts, so the loop keeps it while libcurl may call back.
@safe final class HTTPTransfer {
    let easy: EasyHandle
    private(set) var arrival: HTTPInbox.Arrival?
    private(set) var lane: HostQueue?
    private let settings: HTTPSettings
    private let readyHosts: ReadyHosts
    private var headerList: UnsafeMutablePointer<curl_slist>?

    private var head: [UInt8] = []
    private var body: [UInt8] = []
    /// The cause for which a callback ended the transfer.
    private var verdict: HTTPFailure.Cause?
    private var isBegun = false
    /// Whether other requests wait for the outcome of this one; see ``HostQueue``.
    private var goesAhead = false
    private var wentAhead = false
    /// The local port of the connection that carries the request, and its stream there.
    private var place: (port: Int, stream: Int)?

    /// The maximum size of the header lines of a response.
    private static let headLimit = 64 * 1024
    /// The maximum number of repeats of a request that the server left unread after a GOAWAY.
    private static let repeatLimit = 5

    init?(_ settings: HTTPSettings, readyHosts: ReadyHosts) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        self.settings = settings
        self.readyHosts = readyHosts
        easy.configure(settings)
        easy.setCallbacks(of: self)
    }

    deinit { unsafe curl_slist_free_all(headerList) }

    /// Prepares the handle for a request.
    ///
    /// - Returns: a local problem; nil if there is none.
    func load(_ arrival: HTTPInbox.Arrival, in lane: HostQueue, now: Int64) -> String? {
        self.arrival = arrival
        self.lane = lane
        head.removeAll(keepingCapacity: true)
        body = []
        verdict = nil
        isBegun = false
        place = nil
        goesAhead = lane.begin(settings, now: now)
        wentAhead = goesAhead
        easy.forgetErrors()
        let request = arrival.ticket.request
        easy.set(CURLOPT_URL, request.url)
        easy.setMethod(request)
        easy.set(CURLOPT_TIMEOUT_MS, Int(max(1, arrival.ticket.deadline - now)))
        guard loadHeaders(of: request) else { return "no memory left" }
        return easy.refusedOption
    }

    private func loadHeaders(of request: HTTPRequest) -> Bool {
        unsafe curl_slist_free_all(headerList)
        unsafe headerList = nil
        var lines = request.headers.map { name, value in
            // libcurl takes "name:" as a request to omit the header.
            value.isEmpty ? "\(name);" : "\(name): \(value)"
        }
        // Suppress the headers that libcurl would add.
        let hasType = request.headers.contains { $0.name.lowercased() == "content-type" }
        if request.method == "POST", !hasType { lines.append("Content-Type:") }
        if request.body.count > 1_000_000 { lines.append("Expect:") }
        for line in lines {
            guard let longer = unsafe curl_slist_append(headerList, line) else { return false }
            unsafe headerList = longer
        }
        unsafe errand_curl_set_list(easy.handle, CURLOPT_HTTPHEADER, headerList)
        return true
    }

    /// Whether the server has announced that it did not and will not read the request.
    var isUnread: Bool {
        guard let lane, let place, head.isEmpty else { return false }
        return lane.isUnread(place.stream, onPort: place.port)
    }

    /// The request to send again; nil after the maximum number of repeats.
    var arrivalToRepeat: HTTPInbox.Arrival? {
        guard var arrival, verdict == nil, arrival.repeats < Self.repeatLimit else { return nil }
        arrival.repeats += 1
        return arrival
    }

    /// Releases the request and resumes its sender with the outcome; nil does not resume it.
    func unload(_ outcome: Result<HTTPResponse, HTTPFailure>?) {
        lane?.end(wentAhead: wentAhead)
        if let outcome { arrival?.sender.resume(returning: outcome) }
        arrival = nil
        lane = nil
        body = []
    }

    /// Returns the outcome of the transfer.
    func outcome(of code: CURLcode, isUnread: Bool) -> Result<HTTPResponse, HTTPFailure> {
        if code == CURLE_OK {
            guard isHTTP2 || settings.http2 != .required else {
                return .failure(
                    HTTPFailure(
                        cause: .disconnected, isAmbiguous: true,
                        detail: "the server does not support HTTP/2"))
            }
            var status = 0
            unsafe errand_curl_get_long(easy.handle, CURLINFO_RESPONSE_CODE, &status)
            return .success(HTTPResponse(status: status, body: body, head: head))
        }
        // The connection may have succeeded with another address of the server.
        if let verdict, verdict != .refusedAddress || code == CURLE_COULDNT_CONNECT {
            return .failure(HTTPFailure(cause: verdict, isAmbiguous: isBegun && !isUnread))
        }
        return .failure(
            HTTPFailure(
                code, isBegun: isBegun && !isUnread, explanation: easy.explanation(of: code)))
    }

    /// The failure of a transfer that is cancelled.
    var interruption: HTTPFailure { HTTPFailure(cause: .cancelled, isAmbiguous: isBegun) }

    /// Whether the response uses HTTP/2.
    var isHTTP2: Bool {
        var version = 0
        unsafe errand_curl_get_long(easy.handle, CURLINFO_HTTP_VERSION, &version)
        return version == CURL_HTTP_VERSION_2_0
    }

    private func lookedAhead(isNew: Bool) {
        guard goesAhead, let lane else { return }
        goesAhead = false
        lane.prove(isNew: isNew)
        readyHosts.add(lane)
    }

    // libcurl's callbacks

    /// Receives one header line.
    fileprivate func receivedHead(_ line: UnsafeRawBufferPointer) -> Bool {
        // The final header follows an interim one (status 1xx).
        if unsafe line.starts(with: "HTTP/".utf8) { head.removeAll(keepingCapacity: true) }
        lookedAhead(isNew: true)
        guard head.count + line.count <= Self.headLimit else {
            verdict = .tooLarge
            return false
        }
        unsafe head.append(contentsOf: line)
        return true
    }

    fileprivate func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= settings.bodyLimit else {
            verdict = .tooLarge
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    /// Called with a connection, before each sending of the request; returns whether to send.
    ///
    /// libcurl repeats a request on its own if a reused connection breaks before the first byte of
    /// the response. This is prevented, because the server may have processed the request. A repeat
    /// is allowed only if HTTP/2 refused the stream unread (REFUSED_STREAM, or a GOAWAY with a
    /// lower last stream), in which case libcurl has reported no error.
    fileprivate func mayBegin(onPort port: Int) -> Bool {
        if isBegun {
            let wasRefused = lane?.isHTTP2 == true && !easy.hasComplained || isUnread
            guard wasRefused else {
                verdict = .disconnected
                return false
            }
        }
        isBegun = true
        let isNew = !easy.reusedConnection
        if !isNew { lookedAhead(isNew: false) }
        if let lane {
            place = (port, lane.openStream(onPort: port, isNewConnection: isNew))
        }
        return true
    }

    /// Reads a log line of libcurl; 7.88.1 writes "recveived GOAWAY, error=0, last_stream=7".
    fileprivate func receiveRemark(_ remark: UnsafeRawBufferPointer) {
        // There are about twenty other lines for each request.
        guard unsafe remark.starts(with: "rec".utf8), let lane, let place else { return }
        let text = unsafe String(decoding: remark, as: UTF8.self)
        guard text.contains("GOAWAY, error="), let mark = text.firstRange(of: "last_stream="),
            let lastRead = Int(text[mark.upperBound...].prefix { $0.isNumber })
        else { return }
        lane.goAway(onPort: place.port, lastRead: lastRead)
    }

    /// Returns whether connecting to the address is allowed.
    fileprivate func mayReach(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        if settings.allowsPrivateAddresses { return true }
        guard let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
        let size = Int(unsafe address.pointee.addrlen)
        let start = unsafe UnsafeRawPointer(address) + place
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
        let isPublic: Bool
        switch unsafe address.pointee.family {
        case AF_INET where size >= 8:
            // After family and port.
            isPublic = PublicAddress.isPublic(bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
        case AF_INET6 where size >= 24:
            // After family, port and flow.
            isPublic = PublicAddress.isPublic(Array(bytes[8..<24]))
        default:
            isPublic = false
        }
        if !isPublic { verdict = .refusedAddress }
        return isPublic
    }
}

extension EasyHandle {
    /// Sets the options of all requests of a client.
    fileprivate func configure(_ settings: HTTPSettings) {
        set(CURLOPT_PROTOCOLS_STR, settings.allowsPlainText ? "https,http" : "https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        // Only the verbose log reports a GOAWAY frame.
        set(CURLOPT_VERBOSE, 1)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // Ignore the environment's proxies: only the settings apply.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = settings.authorityFile { set(CURLOPT_CAINFO, file) }
        set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectLimit)
        if let life = settings.connectionLife {
            set(CURLOPT_MAXLIFETIME_CONN, max(1, Int(life.components.seconds)))
        }
        // The kernel's probes keep idle connections alive; libcurl checks for a GOAWAY or a closed
        // connection before it reuses one.
        set(CURLOPT_MAXAGE_CONN, 3600)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 60)
        set(CURLOPT_TCP_KEEPINTVL, 20)
        set(CURLOPT_PIPEWAIT, settings.http2 == .never ? 0 : 1)
        let version =
            switch settings.http2 {
            case .required: CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
            case .preferred: CURL_HTTP_VERSION_2TLS
            case .never: CURL_HTTP_VERSION_1_1
            }
        set(CURLOPT_HTTP_VERSION, version)
    }

    fileprivate func setMethod(_ request: HTTPRequest) {
        set(CURLOPT_CUSTOMREQUEST, nil)
        let body = request.body
        if request.method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
            return
        }
        if body.isEmpty, request.method != "POST" {
            set(CURLOPT_HTTPGET, 1)
            if request.method != "GET" { set(CURLOPT_CUSTOMREQUEST, request.method) }
            return
        }
        set(CURLOPT_POST, 1)
        if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
        set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
        unsafe note(
            errand_curl_set_bytes(handle, CURLOPT_COPYPOSTFIELDS, body), CURLOPT_COPYPOSTFIELDS)
    }

    fileprivate func setCallbacks(of transfer: HTTPTransfer) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        unsafe errand_curl_set_context(handle, CURLOPT_PRIVATE, context)
        unsafe errand_curl_set_context(handle, CURLOPT_HEADERDATA, context)
        unsafe errand_curl_set_context(handle, CURLOPT_WRITEDATA, context)
        unsafe errand_curl_set_context(handle, CURLOPT_OPENSOCKETDATA, context)
        unsafe errand_curl_set_context(handle, CURLOPT_PREREQDATA, context)
        unsafe errand_curl_set_listener(handle, CURLOPT_HEADERFUNCTION, receiveHead)
        unsafe errand_curl_set_listener(handle, CURLOPT_WRITEFUNCTION, receiveBody)
        unsafe errand_curl_set_opener(handle, openSocket)
        unsafe errand_curl_set_gate(handle, askToBegin)
        unsafe errand_curl_set_context(handle, CURLOPT_DEBUGDATA, context)
        unsafe errand_curl_set_debugger(handle, receiveRemark)
    }
}

/// Called by libcurl with one header line; any result but its length ends the transfer.
private let receiveHead: curl_write_callback = { line, size, count, context in
    guard let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: line, count: size * count)
    return unsafe transfer.receivedHead(bytes) ? bytes.count : 0
}

/// Called by libcurl with a part of the body.
private let receiveBody: curl_write_callback = { part, size, count, context in
    guard let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: part, count: size * count)
    return unsafe transfer.receivedBody(bytes) ? bytes.count : 0
}

/// Called by libcurl for a socket for one of the server's addresses.
private let openSocket: curl_opensocket_callback = { context, _, address in
    guard let context = unsafe context, let address = unsafe address else {
        return CURL_SOCKET_BAD
    }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    guard unsafe transfer.mayReach(address) else { return CURL_SOCKET_BAD }
    let kind = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return unsafe socket(address.pointee.family, kind, address.pointee.protocol)
}

/// Called by libcurl with a connection, before it sends the request.
private let askToBegin: curl_prereq_callback = { context, _, _, _, port in
    guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.mayBegin(onPort: Int(port)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Called by libcurl with log lines and other debug data.
private let receiveRemark: curl_debug_callback = { _, kind, data, size, context in
    guard kind == CURLINFO_TEXT, let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    unsafe transfer.receiveRemark(UnsafeRawBufferPointer(start: data, count: size))
    return 0
}
