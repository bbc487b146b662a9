import Foundation
import Synchronization

/// A socket in front of a server's, which cuts a connection in the middle of an answer.
final class CuttingSocket: Sendable {
    private let listener: Int32
    private let budget = Mutex<Int?>(nil)
    let path: String

    struct Refused: Error {
        var code: Int32
    }

    init(to server: String) throws {
        let own = FileManager.default.temporaryDirectory
            .appending(path: "errand-cut-\(UUID().uuidString.prefix(8)).sock").path
        path = own
        let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        listener = made
        guard unsafe Self.reach(own, { unsafe bind(made, $0, $1) }) == 0, listen(made, 8) == 0
        else {
            throw Refused(code: errno)
        }
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(made, nil, nil)
                guard client >= 0, self != nil else { return }
                let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                _ = unsafe Self.reach(server) { unsafe connect(upstream, $0, $1) }
                Thread.detachNewThread { self?.relay(client, upstream) }
            }
        }
    }

    deinit {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        _ = unsafe unlink(path)
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
