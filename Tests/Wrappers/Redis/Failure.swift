import Foundation
import ErrandRedis
import ErrandTestServices

/// The error that `body` throws, if it is one of Redis's.
func failure(_ body: () async throws -> Void) async -> RedisError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RedisError
    }
}

extension RedisError {
    var isUnreachable: Bool { if case .unreachable = self { true } else { false } }
    var isRefused: Bool { if case .refused = self { true } else { false } }
    var isServer: Bool { if case .server = self { true } else { false } }
    var isUsage: Bool { if case .usage = self { true } else { false } }
}

/// The Redis that all tests share: each names its keys and connections anew.
enum SharedRedis {
    static func connection(_ name: String = "errand-test") throws -> Connection {
        Connection(try address(), name: name)
    }

    static func address() throws -> RedisAddress {
        try RedisAddress(url: TestDatabase.environment("REDIS_URL"))
    }
}

/// A name that no other test has.
func fresh(_ name: String) -> String { "\(name)-\(UUID().uuidString)" }

extension Reply {
    static func text(_ text: String) -> Reply { .string(Array(text.utf8)) }
}

/// Waits until the connection of this name waits in the server for something to pop.
func untilBlocked(_ name: String, seenBy other: Connection) async throws {
    try await eventually("\(name) waits in Redis") {
        try await other.send(Command("CLIENT", "LIST")).text?.split(separator: "\n").contains {
            // Beside b there are other flags, such as U for a socket.
            $0.contains("name=\(name) ") && $0.contains(#/ flags=[A-Za-z]*b/#)
        } == true
    }
}
