import Foundation
import Synchronization

/// A TCP port in front of a server's socket, which can cut a connection in the middle of an answer.
final class Relay: Sendable {
    private let listener: LocalListener
    private let budget = Mutex<Int?>(nil)
    var port: UInt16 { listener.port }

    init(to path: String) throws {
        listener = try LocalListener()
        let descriptor = listener.descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, self != nil else { return }
                Thread.detachNewThread { self?.relay(client, Relay.connect(path)) }
            }
        }
    }

    /// How many more bytes of the server's go through before the connection is cut; nil for all.
    func cut(after count: Int?) { budget.withLock { $0 = count } }

    private func relay(_ client: Int32, _ server: Int32) {
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
                let mayPass = budget.withLock { budget -> Bool in
                    guard let left = budget else { return true }
                    budget = left - count
                    return left >= count
                }
                guard count > 0, mayPass, unsafe send(client, buffer, count, 0) == count else {
                    return
                }
            }
        }
    }

    private static func connect(_ path: String) -> Int32 {
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: path.utf8)
        }
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe Glibc.connect(made, generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return made
    }
}
