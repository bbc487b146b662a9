import Foundation
import Synchronization

/// Passes bytes between a client and a server, and cuts the two off in the middle of an answer.
package final class CuttingRelay: Sendable {
    private let budget = Mutex<Int?>(nil)

    package init() {}

    /// How many more bytes of the server's go through before the connection is cut; nil for all.
    package func cut(after count: Int?) { budget.withLock { $0 = count } }

    /// Relays until either side ends or the budget is used up, then closes both.
    package func run(_ client: Int32, _ server: Int32) {
        defer {
            close(client)
            close(server)
        }
        var buffer = [UInt8](repeating: 0, count: 8_192)
        while true {
            var sockets = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&sockets, 2, -1) > 0 else { return }
            if sockets[0].revents != 0 {
                let count = unsafe read(client, &buffer, buffer.count)
                guard count > 0, unsafe write(server, buffer, count) == count else { return }
            }
            if sockets[1].revents != 0 {
                let count = unsafe read(server, &buffer, buffer.count)
                guard count > 0 else { return }
                let passing = budget.withLock { budget -> Int in
                    guard let left = budget else { return count }
                    budget = max(left - count, 0)
                    return min(left, count)
                }
                let flags = Int32(MSG_NOSIGNAL)
                guard unsafe send(client, buffer, passing, flags) == count else { return }
            }
        }
    }

    /// A connection to the socket at `path`; every use of it fails when nobody listens there.
    package static func connection(to path: String) -> Int32 {
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        _ = unsafe reach(path) { unsafe connect(made, $0, $1) }
        return made
    }

    /// A socket that listens at `path`; nil with the reason in `errno`.
    package static func listener(at path: String) -> Int32? {
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isBound = unsafe reach(path) { unsafe bind(made, $0, $1) } == 0
        return isBound && listen(made, 8) == 0 ? made : nil
    }

    private static func reach(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
