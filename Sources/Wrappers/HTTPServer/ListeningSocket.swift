import Glibc

/// A socket that listens for TCP connections.
///
/// The owner of its descriptor closes it.
struct ListeningSocket {
    let descriptor: Int32
    /// The actual port.
    let port: UInt16

    private static let backlog: Int32 = 128

    /// Opens the socket on the first address of the host; without a host, on all addresses of IPv6
    /// and IPv4.
    init(_ address: ListenAddress) throws(HTTPServerFailure) {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_PASSIVE
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(address.host, String(address.port), &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard code == 0 else {
            let reason = unsafe String(cString: gai_strerror(code))
            throw HTTPServerFailure(description: "cannot listen on \(address): \(reason)")
        }
        var places: [UnsafeMutablePointer<addrinfo>] = unsafe []
        var next = unsafe list
        while let place = unsafe next {
            unsafe places.append(place)
            unsafe next = unsafe place.pointee.ai_next
        }
        // An IPv6 socket accepts IPv4 connections too.
        let ordered =
            unsafe places.filter { unsafe $0.pointee.ai_family == AF_INET6 }
            + places.filter { unsafe $0.pointee.ai_family != AF_INET6 }
        var fault = EADDRNOTAVAIL
        for place in unsafe ordered.indices {
            guard let opened = unsafe Self.open(ordered[place].pointee) else {
                fault = errno
                continue
            }
            guard let port = Self.port(of: opened) else {
                fault = errno
                close(opened)
                continue
            }
            descriptor = opened
            self.port = port
            return
        }
        let reason = unsafe String(cString: strerror(fault))
        throw HTTPServerFailure(
            description: "cannot listen on \(address): \(reason)", isTaken: fault == EADDRINUSE)
    }

    /// Opens a socket on one address; returns nil with the reason in `errno`.
    private static func open(_ place: addrinfo) -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = unsafe socket(place.ai_family, type, place.ai_protocol)
        guard descriptor >= 0 else { return nil }
        // Otherwise a restarted process would have to wait for the connections of its predecessor.
        set(SOL_SOCKET, SO_REUSEADDR, 1, on: descriptor)
        if unsafe place.ai_family == AF_INET6 {
            set(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0, on: descriptor)
        }
        guard unsafe bind(descriptor, place.ai_addr, place.ai_addrlen) == 0,
            listen(descriptor, backlog) == 0
        else {
            let fault = errno
            close(descriptor)
            errno = fault
            return nil
        }
        return descriptor
    }

    private static func set(_ level: Int32, _ name: Int32, _ value: Int32, on descriptor: Int32) {
        var value = value
        unsafe setsockopt(
            descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func port(of descriptor: Int32) -> UInt16? {
        var place = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &place) { pointer in
            let isKnown = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length) == 0
            }
            guard isKnown else { return nil }
            // The port has the same offset in addresses of both families.
            return unsafe pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe UInt16(bigEndian: $0.pointee.sin_port)
            }
        }
    }
}
