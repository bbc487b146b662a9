import Glibc

/// A socket that listens for TCP connections.
///
/// The owner of its descriptor closes it.
struct ListeningSocket {
    let descriptor: Int32
    /// The actual port.
    let port: UInt16

    private static let backlog: Int32 = 128

    /// Opens the socket on the first address of the host; for all addresses of both families, on
    /// those of IPv4 if the machine has no IPv6.
    init(_ address: ListenAddress) throws(HTTPServerFailure) {
        let hosts =
            address.host == ListenAddress.everywhere ? [address.host, "0.0.0.0"] : [address.host]
        var fault = EADDRNOTAVAIL
        for host in hosts {
            if let opened = try Self.open(host, address, &fault) {
                (descriptor, port) = opened
                return
            }
            guard fault == EADDRNOTAVAIL || fault == EAFNOSUPPORT else { break }
        }
        let reason = unsafe String(cString: strerror(fault))
        throw HTTPServerFailure(
            description: "cannot listen on \(address): \(reason)", isTaken: fault == EADDRINUSE)
    }

    /// Opens a socket on the first address of a host; returns nil and the last error for none.
    private static func open(
        _ host: String, _ address: ListenAddress, _ fault: inout Int32
    ) throws(HTTPServerFailure) -> (descriptor: Int32, port: UInt16)? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_PASSIVE
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(address.port), &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard code == 0 else {
            let reason = unsafe String(cString: gai_strerror(code))
            throw HTTPServerFailure(description: "cannot listen on \(address): \(reason)")
        }
        var next = unsafe list
        while let place = unsafe next {
            if let opened = unsafe open(place.pointee) {
                if let port = port(of: opened) { return (opened, port) }
                fault = errno
                close(opened)
            } else {
                fault = errno
            }
            unsafe next = unsafe place.pointee.ai_next
        }
        return nil
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
