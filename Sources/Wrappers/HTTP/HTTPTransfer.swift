import CErrandCurl
import Glibc

/// One of libcurl's easy handles with what a request on it has brought so far; used for one
/// request after the other.
///
/// Not `Sendable`: it lives on the thread of its loop. libcurl holds it as a bare pointer, in the
/// callbacks' contexts: the loop keeps it for as long as libcurl may call back.
@safe final class HTTPTransfer {
    let easy: EasyHandle
    private(set) var arrival: HTTPInbox.Arrival?
    private(set) var lane: HostLane?
    private let settings: HTTPSettings
    private let openings: LaneOpenings
    private var headerList: UnsafeMutablePointer<curl_slist>?

    private var head: [UInt8] = []
    private var body: [UInt8] = []
    /// What a callback has ended the transfer for.
    private var verdict: HTTPFailure.Cause?
    private var isBegun = false
    /// Whether others wait for what this request finds; see ``HostLane``.
    private var goesAhead = false
    private var wentAhead = false
    /// The local port of the connection that carries the request, and its stream there.
    private var place: (port: Int, stream: Int)?

    /// Header lines of one answer, all together.
    private static let headLimit = 64 * 1024
    /// How often a request is sent again that a GOAWAY has left unread.
    private static let repeatLimit = 5

    init?(_ settings: HTTPSettings, openings: LaneOpenings) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        self.settings = settings
        self.openings = openings
        easy.configure(settings)
        easy.setCallbacks(of: self)
    }

    deinit { unsafe curl_slist_free_all(headerList) }

    /// Makes ready to carry a request.
    ///
    /// - Returns: what is wrong on this side; nil if nothing is.
    func load(_ arrival: HTTPInbox.Arrival, in lane: HostLane, now: Int64) -> String? {
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
            // libcurl takes "name:" as the wish to leave the header out.
            value.isEmpty ? "\(name);" : "\(name): \(value)"
        }
        // Those that libcurl would add on its own.
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

    /// Whether the server has said that it has not read the request, and never will.
    var isUnread: Bool {
        guard let lane, let place, head.isEmpty else { return false }
        return lane.isUnread(place.stream, onPort: place.port)
    }

    /// The request to be sent again, unless it was often enough.
    var arrivalToRepeat: HTTPInbox.Arrival? {
        guard var arrival, verdict == nil, arrival.repeats < Self.repeatLimit else { return nil }
        arrival.repeats += 1
        return arrival
    }

    /// Lets go of the request, telling its sender how it ended; nil tells nothing.
    func unload(_ outcome: Result<HTTPResponse, HTTPFailure>?) {
        lane?.end(wentAhead: wentAhead)
        if let outcome { arrival?.sender.resume(returning: outcome) }
        arrival = nil
        lane = nil
        body = []
    }

    /// How the transfer ended.
    func outcome(of code: CURLcode, isUnread: Bool) -> Result<HTTPResponse, HTTPFailure> {
        if code == CURLE_OK {
            guard isHTTP2 || settings.http2 != .required else {
                return .failure(
                    HTTPFailure(
                        cause: .disconnected, isAmbiguous: true,
                        detail: "the server speaks no HTTP/2"))
            }
            var status = 0
            unsafe errand_curl_get_long(easy.handle, CURLINFO_RESPONSE_CODE, &status)
            return .success(HTTPResponse(status: status, body: body, head: head))
        }
        // A connection that another address was tried for may have been made all the same.
        if let verdict, verdict != .refusedAddress || code == CURLE_COULDNT_CONNECT {
            return .failure(HTTPFailure(cause: verdict, isAmbiguous: isBegun && !isUnread))
        }
        return .failure(
            HTTPFailure(
                code, isBegun: isBegun && !isUnread, explanation: easy.explanation(of: code)))
    }

    /// The failure of a transfer that is given up in the middle.
    var interruption: HTTPFailure { HTTPFailure(cause: .cancelled, isAmbiguous: isBegun) }

    /// Whether the answer came as HTTP/2.
    var isHTTP2: Bool {
        var version = 0
        unsafe errand_curl_get_long(easy.handle, CURLINFO_HTTP_VERSION, &version)
        return version == CURL_HTTP_VERSION_2_0
    }

    private func lookedAhead(isNew: Bool) {
        guard goesAhead, let lane else { return }
        goesAhead = false
        lane.prove(isNew: isNew)
        openings.add(lane)
    }

    // What libcurl tells and asks

    /// One line of the head.
    fileprivate func receivedHead(_ line: UnsafeRawBufferPointer) -> Bool {
        // A new head follows one that was only for the meantime (status 1xx).
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

    /// Asked with a connection made and before each sending of the request.
    ///
    /// libcurl sends again on its own if a connection that was used before breaks without a byte
    /// of the answer. The server may have worked by then, so it is not let; only where HTTP/2
    /// refused the stream unread (REFUSED_STREAM, or a GOAWAY with a lower last stream), which
    /// is when libcurl repeats without having complained of an error before.
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

    /// A remark of libcurl's; that of 7.88.1 is "recveived GOAWAY, error=0, last_stream=7".
    fileprivate func heard(_ remark: UnsafeRawBufferPointer) {
        // Nearly all remarks are others, a score of them for each request.
        guard unsafe remark.starts(with: "rec".utf8), let lane, let place else { return }
        let text = unsafe String(decoding: remark, as: UTF8.self)
        guard text.contains("GOAWAY, error="), let mark = text.firstRange(of: "last_stream="),
            let lastRead = Int(text[mark.upperBound...].prefix { $0.isNumber })
        else { return }
        lane.goAway(onPort: place.port, lastRead: lastRead)
    }

    /// Whether the address may be connected to.
    fileprivate func mayReach(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        if settings.allowsPrivateAddresses { return true }
        guard let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
        let size = Int(unsafe address.pointee.addrlen)
        let start = unsafe UnsafeRawPointer(address) + place
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
        let isPublic: Bool
        switch unsafe address.pointee.family {
        case AF_INET where size >= 8:
            // Behind family and port.
            isPublic = PublicAddress.isPublic(bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
        case AF_INET6 where size >= 24:
            // Behind family, port and flow.
            isPublic = PublicAddress.isPublic(Array(bytes[8..<24]))
        default:
            isPublic = false
        }
        if !isPublic { verdict = .refusedAddress }
        return isPublic
    }
}

extension EasyHandle {
    /// What all requests of a client have in common.
    fileprivate func configure(_ settings: HTTPSettings) {
        set(CURLOPT_PROTOCOLS_STR, settings.allowsPlainText ? "https,http" : "https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        // There is no other way to hear of a GOAWAY frame.
        set(CURLOPT_VERBOSE, 1)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // The environment's proxies are for other programs: what is in force is in the settings.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = settings.authorityFile { set(CURLOPT_CAINFO, file) }
        set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectLimit)
        if let life = settings.connectionLife {
            set(CURLOPT_MAXLIFETIME_CONN, max(1, Int(life.components.seconds)))
        }
        // Kept alive through idle hours by the kernel's probes; libcurl looks for a GOAWAY or an
        // end before it uses one again.
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
        unsafe errand_curl_set_listener(handle, CURLOPT_HEADERFUNCTION, hearHead)
        unsafe errand_curl_set_listener(handle, CURLOPT_WRITEFUNCTION, hearBody)
        unsafe errand_curl_set_opener(handle, openSocket)
        unsafe errand_curl_set_gate(handle, askToBegin)
        unsafe errand_curl_set_context(handle, CURLOPT_DEBUGDATA, context)
        unsafe errand_curl_set_debugger(handle, hearRemark)
    }
}

/// libcurl hands over one line of the head; another count than its own ends the transfer.
private let hearHead: curl_write_callback = { line, size, count, context in
    guard let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: line, count: size * count)
    return unsafe transfer.receivedHead(bytes) ? bytes.count : 0
}

/// libcurl hands over a part of the body.
private let hearBody: curl_write_callback = { part, size, count, context in
    guard let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = unsafe UnsafeRawBufferPointer(start: part, count: size * count)
    return unsafe transfer.receivedBody(bytes) ? bytes.count : 0
}

/// libcurl wants a socket for one of the addresses of the server's name.
private let openSocket: curl_opensocket_callback = { context, _, address in
    guard let context = unsafe context, let address = unsafe address else {
        return CURL_SOCKET_BAD
    }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    guard unsafe transfer.mayReach(address) else { return CURL_SOCKET_BAD }
    let kind = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return unsafe socket(address.pointee.family, kind, address.pointee.protocol)
}

/// libcurl has a connection and asks whether to send.
private let askToBegin: curl_prereq_callback = { context, _, _, _, port in
    guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.mayBegin(onPort: Int(port)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// libcurl remarks on something, among much else that it shows.
private let hearRemark: curl_debug_callback = { _, kind, data, size, context in
    guard kind == CURLINFO_TEXT, let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
    unsafe transfer.heard(UnsafeRawBufferPointer(start: data, count: size))
    return 0
}
