import Foundation
import ErrandRedis
import ErrandTestServices

/// A Redis of the test's own, which it may empty.
struct OwnServer {
    var program: Program
    var url: String
    var connection: Connection

    init(_ options: String...) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-redis-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "redis.sock").path
        program = try Program(
            "/usr/bin/env",
            ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder.path]
                + ["--save", "", "--appendonly", "no"] + options)
        url = "unix://\(path)"
        let connection = Connection(try RedisAddress(url: url), name: "own")
        self.connection = connection
        try await eventually("the test's own Redis answers") {
            (try? await connection.send(Command("PING"))) != nil
        }
    }

    var environment: [String: String] { ["REDIS_URL": url] }

    func keys() async throws -> Set<String> {
        let reply = try await connection.send(Command("KEYS", "*"))
        return Set((reply.array ?? []).compactMap(\.text))
    }
}
