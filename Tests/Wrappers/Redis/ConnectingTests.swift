import Foundation
import ErrandRedis
import ErrandTestServices
import Testing
import ErrandThreads

@Suite("Connecting to Redis") struct ConnectingTests {
    @Test func `over a socket and over TCP it is the same server`() async throws {
        let local = try SharedRedis.connection()
        let port = try #require(
            try await local.send(Command("CONFIG", "GET", "port")).array?.last?.int)
        let key = fresh("both")
        _ = try await local.send(Command("SET", key, "seen"))
        let remote = Connection(try RedisAddress(url: "redis://127.0.0.1:\(port)"), name: "tcp")
        #expect(try await remote.send(Command("GET", key)).text == "seen")
        let byName = Connection(try RedisAddress(url: "redis://localhost:\(port)/0"), name: "tcp")
        #expect(try await byName.send(Command("DEL", key)).int == 1)
    }

    @Test func `it carries its name and is in its database`() async throws {
        let redis = try await OwnRedis()
        let address = try redis.address("", "?db=3")
        let connection = Connection(address, name: "named")
        try await connection.connect()
        let list = try await connection.send(Command("CLIENT", "LIST")).text
        let own = list?.split(separator: "\n").first { $0.contains("name=named ") }
        #expect(own?.contains(" db=3 ") == true)
        _ = try await connection.send(Command("SET", "k", "in three"))
        #expect(try await redis.connection().send(Command("GET", "k")).isNull)
    }

    @Test func `a password lets in, and nothing else does`() async throws {
        let redis = try await OwnRedis("--requirepass", "öpen / sesame")
        let connection = try redis.connection(":%C3%B6pen%20%2F%20sesame@")
        #expect(try await connection.send(Command("PING")).text == "PONG")
        for credentials in [":wrong-word@", "", ":@", "nobody:wrong-word@"] {
            let other = try redis.connection(credentials)
            // The second call finds no half-open door that the first one left.
            for _ in 0..<2 {
                let error = await failure { _ = try await other.send(Command("PING")) }
                #expect(error?.isRefused == true, "\(credentials): \(error as Any)")
                #expect(error?.isTransient == false)
                #expect(error?.description.contains("wrong-word") == false)
                #expect(error?.description.contains(redis.path) == true)
            }
        }
    }

    @Test func `a user signs in by name and has that user's rights`() async throws {
        let redis = try await OwnRedis()
        _ = try await redis.connection().send(
            Command("ACL", "SETUSER", "reader", "on", ">word", "~*", "+get", "+client"))
        let reader = try redis.connection("reader:word@")
        #expect(try await reader.send(Command("GET", "k")).isNull)
        let error = await failure { _ = try await reader.send(Command("SET", "k", "v")) }
        #expect(error?.isRefused == true)
        #expect(error?.description.contains("NOPERM") == true)
        #expect(try await reader.send(Command("GET", "k")).isNull)
    }

    @Test func `a password that the server does not ask for is refused`() async throws {
        let redis = try await OwnRedis()
        let error = await failure { _ = try await redis.connection(":word@").connect() }
        #expect(error?.isRefused == true)
    }

    @Test func `a database that is not there is refused, never taken for the first`()
        async throws
    {
        let redis = try await OwnRedis("--databases", "4")
        let connection = Connection(try redis.address("", "?db=4"), name: "test")
        for _ in 0..<2 {
            let error = await failure { _ = try await connection.send(Command("SET", "k", "v")) }
            #expect(error?.isRefused == true)
            #expect(error?.description.contains("database 4") == true)
        }
        #expect(try await redis.connection().send(Command("DBSIZE")).int == 0)
    }

    @Test func `nobody there is said with the place`() async throws {
        for url in ["unix:///nonexistent/redis.sock", "redis://127.0.0.1:1"] {
            let address = try RedisAddress(url: url)
            let connection = Connection(address, name: "test")
            let error = await failure { _ = try await connection.send(Command("PING")) }
            #expect(error?.isUnreachable == true)
            #expect(error?.isTransient == true)
            #expect(error?.description.hasPrefix("\(address) cannot be reached: ") == true)
        }
    }

    @Test func `a server that speaks something else is an error, not a wait`() async throws {
        let url = try #require(
            URLComponents(string: try TestDatabase.environment("DATABASE_URL"))?.queryItems)
        let folder = try #require(url.first { $0.name == "host" }?.value)
        let port = url.first { $0.name == "port" }?.value ?? "5432"
        let postgres = try RedisAddress(url: "unix://\(folder)/.s.PGSQL.\(port)")
        let connection = Connection(postgres, name: "test")
        let error = await failure { _ = try await connection.send(Command("PING")) }
        #expect(error?.isUnreachable == true)
    }

    @Test func `a closed connection connects again when it is needed`() async throws {
        let connection = try SharedRedis.connection()
        let first = try await connection.send(Command("CLIENT", "ID")).int
        await connection.close()
        await connection.close()
        connection.interrupt()
        let second = try await connection.send(Command("CLIENT", "ID")).int
        #expect(first != nil && second != nil && first != second)
    }

    @Test func `connections may share a thread`() async throws {
        let thread = DedicatedThreadExecutor(name: "shared")
        defer { thread.stop() }
        let connections = try (0..<5).map {
            Connection(try SharedRedis.address(), name: "shared-\($0)", thread: thread)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in connections {
                for number in 0..<50 {
                    group.addTask {
                        let reply = try await connection.send(Command("ECHO", String(number)))
                        #expect(reply.int == Int64(number))
                    }
                }
            }
            try await group.waitForAll()
        }
        for connection in connections { await connection.close() }
    }
}
