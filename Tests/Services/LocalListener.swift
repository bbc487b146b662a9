import Foundation

/// A TCP port of this machine that accepts callers and never answers them.
package final class LocalListener: Sendable {
    package let descriptor: Int32
    package let port: UInt16

    struct Refused: Error {
        var code: Int32
    }

    /// Listens on a port that was free.
    package init() throws {
        let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard unsafe bind(made, generic, size) == 0, listen(made, 8) == 0 else {
                    return errno
                }
                return unsafe getsockname(made, generic, &size) == 0 ? 0 : errno
            }
        }
        guard code == 0 else { throw Refused(code: code) }
        descriptor = made
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
