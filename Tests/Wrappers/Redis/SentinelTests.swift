import Foundation
import ErrandRedis
import ErrandTestServices
import Testing

/// Sentinels of a test's own before a master and its replica, all on loopback.
@Suite("Sentinels") struct SentinelTests {
    /// A Redis or a sentinel on a free port.
    private static func start(_ words: [String], port: Int) throws -> Program {
        try Program(
            "/usr/bin/env",
            ["redis-server"] + words
                + ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
    }

    private static func sentinel(of master: Int, port: Int) throws -> Program {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "errand-sentinel-\(UUID().uuidString.prefix(8)).conf")
        try Data(
            """
            port \(port)
            bind 127.0.0.1
            sentinel monitor main 127.0.0.1 \(master) 1
            sentinel down-after-milliseconds main 60000

            """.utf8
        ).write(to: file)
        return try Program("/usr/bin/env", ["redis-server", file.path, "--sentinel"])
    }

    private static func answers(_ port: Int) async throws {
        let probe = Connection(
            try RedisAddress(url: "redis://127.0.0.1:\(port)"), name: "probe")
        try await eventually("Redis on port \(port)") {
            // A sentinel knows no CLIENT SETNAME, and is there all the same.
            switch await failure({ _ = try await probe.send(Command("PING")) }) {
            case .unreachable: false
            default: true
            }
        }
    }

    @Test func `a dead sentinel is passed over, and a replica is not taken for the master`()
        async throws
    {
        let base = Int.random(in: 15_000..<31_000)
        let (master, replica, first, second) = (base, base + 1, base + 2, base + 3)
        let servers = [
            try Self.start([], port: master),
            try Self.start(["--replicaof", "127.0.0.1 \(master)"], port: replica),
            try Self.sentinel(of: replica, port: first),
            try Self.sentinel(of: master, port: second),
        ]
        for port in [master, replica, first, second] { try await Self.answers(port) }
        // The first is dead, the second believes in a replica.
        let address = try RedisAddress(
            url: "redis+sentinel://127.0.0.1:1,127.0.0.1:\(first),127.0.0.1:\(second)/main/2")
        let connection = Connection(address, name: "test")
        _ = try await connection.send(Command("SET", "key", "1"))
        #expect(await connection.masterPlace == "127.0.0.1:\(master)")
        // It becomes a replica itself: the write fails, and nobody leads to a master any more.
        let operatorConnection = Connection(
            try RedisAddress(url: "redis://127.0.0.1:\(master)"), name: "operator")
        _ = try await operatorConnection.send(
            Command("REPLICAOF", "127.0.0.1", "\(replica)"))
        let readOnly = await failure { _ = try await connection.send(Command("SET", "key", "2")) }
        #expect(readOnly?.description.contains("READONLY") == true)
        #expect(readOnly?.isTransient == true)
        let lost = await failure { _ = try await connection.send(Command("SET", "key", "2")) }
        #expect(lost?.isUnreachable == true)
        for words in ["127.0.0.1:1: ", "\(second) names 127.0.0.1:\(master)", "its role is slave"] {
            #expect(lost?.description.contains(words) == true, "\(lost?.description ?? "")")
        }
        _ = try await operatorConnection.send(Command("REPLICAOF", "NO", "ONE"))
        _ = try await connection.send(Command("SET", "key", "3"))
        #expect(try await connection.send(Command("GET", "key")).text == "3")
        for server in servers { server.signal(SIGKILL) }
    }

    @Test func `a service that no sentinel knows is an error that names them`() async throws {
        let port = Int.random(in: 15_000..<31_000)
        let server = try Self.sentinel(of: 1, port: port)
        try await Self.answers(port)
        let connection = Connection(
            try RedisAddress(url: "redis+sentinel://127.0.0.1:\(port)/other"), name: "test")
        let error = await failure { _ = try await connection.send(Command("PING")) }
        #expect(
            error?.description.contains("127.0.0.1:\(port)") == true
                && error?.description.contains("unknown service other") == true,
            "\(error?.description ?? "")")
        server.signal(SIGKILL)
    }
}
