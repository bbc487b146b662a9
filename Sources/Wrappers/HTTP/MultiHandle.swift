import CErrandCurl
import CErrandSystem
import Glibc

/// The owner of one libcurl multi handle: many transfers at once, driven by the readiness of
/// their sockets, which one epoll descriptor watches.
///
/// Not `Sendable`: made, used and closed on one thread. libcurl holds it as a bare pointer until
/// ``close()``, which must come before the last reference goes.
@safe final class MultiHandle {
    private let handle: UnsafeMutableRawPointer
    private let watch: Int32
    /// The sockets that libcurl works on: what it waits for on each, and what epoll was told.
    private var sockets: [Int32: (wished: UInt32, told: UInt32?)] = [:]
    /// Sockets for which the two may differ.
    private var changed: [Int32] = []
    /// Transfers added since libcurl last ran them.
    private var added = 0
    private var ready = unsafe [epoll_event](repeating: epoll_event(), count: 256)
    /// When libcurl wants to be called next, in ``monotonicMilliseconds()``.
    private(set) var dueAt: Int64?

    /// Nil when libcurl cannot be started, or there is no memory or descriptor left.
    ///
    /// - Parameter bell: a descriptor whose readiness ends a wait.
    init?(_ settings: HTTPSettings, bell: Int32) {
        guard EasyHandle.libraryIsReady, let handle = unsafe curl_multi_init() else { return nil }
        unsafe self.handle = unsafe handle
        watch = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard watch >= 0 else {
            unsafe curl_multi_cleanup(handle)
            return nil
        }
        control(EPOLL_CTL_ADD, bell, EPOLLIN.rawValue)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe errand_curl_multi_set_sockets(handle, nameSocket, context)
        unsafe errand_curl_multi_set_timer(handle, nameTime, context)
        let multiplexes = settings.http2 == .never ? CURLPIPE_NOTHING : Int(CURLPIPE_MULTIPLEX)
        set(CURLMOPT_PIPELINING, Int(multiplexes))
        set(CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHost)
        set(CURLMOPT_MAX_CONCURRENT_STREAMS, settings.streamsPerConnection)
        // Kept open when idle; by itself libcurl would shrink to four times the transfers at work.
        set(CURLMOPT_MAXCONNECTS, 1024)
    }

    /// Closes all connections; the transfers must have been removed.
    func close() {
        unsafe curl_multi_cleanup(handle)
        Glibc.close(watch)
    }

    private func set(_ option: CURLMoption, _ value: Int) {
        unsafe errand_curl_multi_set_long(handle, option, value)
    }

    /// Starts a transfer; false when there is no memory.
    func add(_ transfer: HTTPTransfer) -> Bool {
        added += 1
        return unsafe curl_multi_add_handle(handle, transfer.easy.handle) == CURLM_OK
    }

    /// Ends a transfer, or lets go of one that has ended.
    func remove(_ transfer: HTTPTransfer) {
        unsafe curl_multi_remove_handle(handle, transfer.easy.handle)
    }

    /// Waits, for so many milliseconds at most, until there is something to do, and does it.
    ///
    /// - Returns: whether the bell rang.
    func work(waiting limit: Int64, bell: Int32) -> Bool {
        tellChanges()
        var limit = limit
        if let dueAt { limit = min(limit, max(0, dueAt - monotonicMilliseconds())) }
        let count = unsafe epoll_wait(watch, &ready, Int32(ready.count), Int32(limit))
        var hasRung = false
        for place in 0..<max(0, Int(count)) {
            let descriptor = unsafe ready[place].data.fd
            if descriptor == bell {
                hasRung = true
            } else {
                unsafe act(on: descriptor, events: ready[place].events)
            }
        }
        runDue()
        return hasRung
    }

    /// Does what is due by the clock, such as starting transfers that were added.
    func runDue() {
        guard let due = dueAt, due <= monotonicMilliseconds() else { return }
        // libcurl says anew when it wants to be called.
        dueAt = nil
        // It writes each frame by itself. Held together, those of many requests share a packet.
        let held = added > 0 && sockets.count <= Self.heldLimit ? Array(sockets.keys) : []
        added = 0
        for descriptor in held { hold(descriptor, true) }
        var running: Int32 = 0
        unsafe curl_multi_socket_action(handle, CURL_SOCKET_BAD, 0, &running)
        for descriptor in held where sockets[descriptor] != nil { hold(descriptor, false) }
    }

    /// Keeps what is written to a socket back until there is a full packet, or lets it go.
    private func hold(_ descriptor: Int32, _ isHeld: Bool) {
        var value: Int32 = isHeld ? 1 : 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, size)
    }

    /// With more sockets than this, each has few of the requests, and holding costs more than it
    /// saves.
    private static let heldLimit = 16

    private func act(on descriptor: Int32, events: UInt32) {
        var mask: Int32 = 0
        if events & EPOLLIN.rawValue != 0 { mask |= CURL_CSELECT_IN }
        if events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        unsafe curl_multi_socket_action(handle, descriptor, mask, &running)
    }

    /// The next transfer that has ended, with how; nil when there is none.
    func nextEnded() -> (HTTPTransfer, CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(handle, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            var context: UnsafeMutableRawPointer?
            unsafe errand_curl_get_context(message.pointee.easy_handle, &context)
            guard let context = unsafe context else { continue }
            let transfer = unsafe Unmanaged<HTTPTransfer>.fromOpaque(context)
                .takeUnretainedValue()
            return (transfer, unsafe message.pointee.data.result)
        }
        return nil
    }

    fileprivate func keepTime(_ milliseconds: Int) {
        dueAt = milliseconds < 0 ? nil : monotonicMilliseconds() + Int64(milliseconds)
    }

    fileprivate func watchSocket(_ descriptor: Int32, _ wish: Int32) {
        if wish == CURL_POLL_REMOVE {
            // At once: libcurl may close it, and its number become another's.
            if sockets.removeValue(forKey: descriptor)?.told != nil {
                control(EPOLL_CTL_DEL, descriptor, 0)
            }
            return
        }
        var events: UInt32 = 0
        if wish & CURL_POLL_IN != 0 { events |= EPOLLIN.rawValue }
        if wish & CURL_POLL_OUT != 0 { events |= EPOLLOUT.rawValue }
        sockets[descriptor, default: (events, nil)].wished = events
        changed.append(descriptor)
    }

    /// Tells epoll what libcurl waits for; it often changes its mind between two waits.
    private func tellChanges() {
        for descriptor in changed {
            guard let socket = sockets[descriptor], socket.wished != socket.told else { continue }
            control(socket.told == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, socket.wished)
            sockets[descriptor]?.told = socket.wished
        }
        changed.removeAll(keepingCapacity: true)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32) {
        var event = unsafe epoll_event()
        unsafe event.events = events
        unsafe event.data.fd = descriptor
        unsafe epoll_ctl(watch, operation, descriptor, &event)
    }
}

/// libcurl names a socket and what to wait for on it.
private let nameSocket: curl_socket_callback = { _, descriptor, wish, context, _ in
    guard let context = unsafe context else { return 0 }
    let multi = unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    multi.watchSocket(descriptor, wish)
    return 0
}

/// libcurl says in how many milliseconds it wants to be called; -1 is "not any more".
private let nameTime: curl_multi_timer_callback = { _, milliseconds, context in
    guard let context = unsafe context else { return 0 }
    let multi = unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    multi.keepTime(milliseconds)
    return 0
}
