import CErrandCurl
import CErrandSystem
import Glibc

/// The owner of one libcurl multi handle: concurrent transfers, driven by the readiness of their
/// sockets, which one epoll descriptor watches.
///
/// Not `Sendable`: it is created, used and closed on one thread. libcurl holds an unmanaged pointer
/// to it until ``close()``, which must be called before the last reference is released.
@safe final class MultiHandle {
    private let handle: UnsafeMutableRawPointer
    private let watch: Int32
    /// libcurl's sockets, with the events that it waits for and those registered with epoll.
    private var sockets: [Int32: (wished: UInt32, registered: UInt32?)] = [:]
    /// The sockets for which the two may differ.
    private var changed: [Int32] = []
    /// The number of transfers added since libcurl last ran them.
    private var added = 0
    private var ready = unsafe [epoll_event](repeating: epoll_event(), count: 256)
    /// The time of libcurl's next call, in ``monotonicMilliseconds()``.
    private(set) var dueAt: Int64?

    /// Returns nil if libcurl cannot be initialized, or without memory or a free descriptor.
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
        // By default libcurl keeps only four times as many connections as active transfers.
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

    /// Starts a transfer; returns false if there is no memory.
    func add(_ transfer: HTTPTransfer) -> Bool {
        added += 1
        return unsafe curl_multi_add_handle(handle, transfer.easy.handle) == CURLM_OK
    }

    /// Removes a transfer, and cancels it if it has not ended.
    func remove(_ transfer: HTTPTransfer) {
        unsafe curl_multi_remove_handle(handle, transfer.easy.handle)
    }

    /// Waits for events for at most a number of milliseconds, and processes them.
    ///
    /// - Returns: whether the bell's descriptor became readable.
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

    /// Runs libcurl's timer, which also starts added transfers.
    func runDue() {
        guard let due = dueAt, due <= monotonicMilliseconds() else { return }
        // libcurl sets its next time again.
        dueAt = nil
        // It writes each frame separately. Held together, those of many requests share a packet.
        let held = added > 0 && sockets.count <= Self.heldLimit ? Array(sockets.keys) : []
        added = 0
        for descriptor in held { hold(descriptor, true) }
        var running: Int32 = 0
        unsafe curl_multi_socket_action(handle, CURL_SOCKET_BAD, 0, &running)
        for descriptor in held where sockets[descriptor] != nil { hold(descriptor, false) }
    }

    /// Holds data written to a socket until there is a full packet, or sends it.
    private func hold(_ descriptor: Int32, _ isHeld: Bool) {
        var value: Int32 = isHeld ? 1 : 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, size)
    }

    /// The number of sockets above which holding costs more than it saves, because each has few
    /// requests.
    private static let heldLimit = 16

    private func act(on descriptor: Int32, events: UInt32) {
        var mask: Int32 = 0
        if events & EPOLLIN.rawValue != 0 { mask |= CURL_CSELECT_IN }
        if events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        unsafe curl_multi_socket_action(handle, descriptor, mask, &running)
    }

    /// Returns the next ended transfer and its result; nil if there is none.
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
            // Remove it at once: libcurl may close it, and the number may be reused.
            if sockets.removeValue(forKey: descriptor)?.registered != nil {
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

    /// Registers with epoll the events that libcurl waits for.
    ///
    /// It often changes them between waits.
    private func tellChanges() {
        for descriptor in changed {
            guard let socket = sockets[descriptor], socket.wished != socket.registered else {
                continue
            }
            control(
                socket.registered == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, socket.wished)
            sockets[descriptor]?.registered = socket.wished
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

/// Called by libcurl with a socket and the events to wait for.
private let nameSocket: curl_socket_callback = { _, descriptor, wish, context, _ in
    guard let context = unsafe context else { return 0 }
    let multi = unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    multi.watchSocket(descriptor, wish)
    return 0
}

/// Called by libcurl with the milliseconds until its timer; -1 stops the timer.
private let nameTime: curl_multi_timer_callback = { _, milliseconds, context in
    guard let context = unsafe context else { return 0 }
    let multi = unsafe Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue()
    multi.keepTime(milliseconds)
    return 0
}
