import Foundation
import ErrandRedis
import ErrandTestServices
import Testing

/// A connection that breaks gives nobody another's answer, and comes back.
@Suite("Broken connections to Redis") struct BreakTests {
    private static func id(_ connection: Connection) async throws -> String {
        try #require(try await connection.send(Command("CLIENT", "ID")).text)
    }

    @Test func `killed while idle, the next call says so and the one after it works`()
        async throws
    {
        let connection = try SharedRedis.connection()
        let id = try await Self.id(connection)
        let killer = try SharedRedis.connection()
        #expect(try await killer.send(Command("CLIENT", "KILL", "ID", id)).int == 1)
        let error = await failure { _ = try await connection.send(Command("PING")) }
        #expect(error?.isUnreachable == true)
        #expect(error?.isTransient == true)
        #expect(error?.description.contains("the next command connects again") == true)
        #expect(try await Self.id(connection) != id)
    }

    @Test func `killed while it waits, it says so and connects anew`() async throws {
        let name = fresh("waiting")
        let connection = try SharedRedis.connection(name)
        let killer = try SharedRedis.connection()
        let id = try await Self.id(connection)
        async let error = failure {
            _ = try await connection.blocking(
                Command("BZPOPMIN", fresh("queue"), "60"), upTo: .seconds(60))
        }
        try await untilBlocked(name, seenBy: killer)
        _ = try await killer.send(Command("CLIENT", "KILL", "ID", id))
        #expect(await error?.isUnreachable == true)
        #expect(try await Self.id(connection) != id)
    }

    @Test func `cut off at any byte of its answers, a pipeline fails and the next gets its own`()
        async throws
    {
        let redis = try await OwnRedis()
        let relay = try CuttingSocket(to: redis.path)
        let connection = Connection(
            try RedisAddress(url: "unix://\(relay.path)"), name: "cut")
        let answers = "$5\r\nfirst\r\n*2\r\n$1\r\na\r\n$-1\r\n:42\r\n$6\r\nsecond\r\n"
        _ = try await connection.pipeline([
            Command("SET", "one", "first"), Command("SET", "two", "second"),
            Command("SET", "a", "a"), Command("SET", "n", "41"),
        ])
        for count in 0..<answers.utf8.count {
            relay.cut(after: count)
            let error = await failure {
                _ = try await connection.pipeline([
                    Command("GET", "one"), Command("MGET", "a", "none"), Command("INCR", "n"),
                    Command("GET", "two"),
                ])
            }
            #expect(error?.isUnreachable == true, "cut after \(count) bytes")
            relay.cut(after: nil)
            #expect(try await connection.send(Command("SET", "n", "41")).text == "OK")
            #expect(try await connection.send(Command("GET", "a")).text == "a")
        }
    }

    @Test func `cut off in a long answer, no part of it is taken for the whole`() async throws {
        let redis = try await OwnRedis()
        let relay = try CuttingSocket(to: redis.path)
        let connection = Connection(
            try RedisAddress(url: "unix://\(relay.path)"), name: "cut")
        let script = Script("local t = {} for i = 1, 100000 do t[i] = i end return t")
        for count in [1, 10_000, 500_000] {
            relay.cut(after: nil)
            try await connection.connect()
            relay.cut(after: count)
            let error = await failure {
                _ = try await connection.runForIntegers(script, keys: [], arguments: Arguments())
            }
            #expect(error?.isUnreachable == true)
        }
        relay.cut(after: nil)
        let whole = try await connection.runForIntegers(
            script, keys: [], arguments: Arguments())
        #expect(whole == Array(1...100_000))
    }

    @Test func `an answer that comes too late is nobody's`() async throws {
        let redis = try await OwnRedis()
        let connection = try redis.connection(replyTimeout: .seconds(1))
        _ = try await connection.pipeline([Command("SET", "a", "1"), Command("SET", "b", "2")])
        redis.signal(SIGSTOP)
        let error = await failure { _ = try await connection.send(Command("GET", "a")) }
        redis.signal(SIGCONT)
        #expect(error?.isUnreachable == true)
        #expect(error?.description.contains("no answer in time") == true)
        #expect(try await connection.send(Command("GET", "b")).text == "2")
    }

    @Test(.timeLimit(.minutes(5)))
    func `after a wait an answer must come in time again`() async throws {
        let redis = try await OwnRedis()
        let connection = try redis.connection(replyTimeout: .seconds(1))
        _ = try await connection.blocking(
            Command("BZPOPMIN", "none", "0.01"), upTo: .seconds(3_600))
        redis.signal(SIGSTOP)
        defer { redis.signal(SIGCONT) }
        let error = await failure {
            try await withTaskCancellationHandler {
                _ = try await connection.send(Command("PING"))
            } onCancel: {
                // Otherwise a limit that was not put back would keep this test for an hour.
                connection.interrupt()
            }
        }
        #expect(error?.isUnreachable == true)
    }

    @Test
    func `callers of one connection get their own answers while it is killed again and again`()
        async throws
    {
        let redis = try await OwnRedis()
        let connection = try redis.connection()
        let killer = try redis.connection()
        let answered = Notebook<Int64>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    for number in 0..<200 {
                        let own = Int64(caller * 1_000 + number)
                        let error = await failure {
                            let reply = try await connection.send(Command("ECHO", String(own)))
                            #expect(reply.int == own)
                            answered.add(own)
                        }
                        #expect(error == nil || error?.isUnreachable == true)
                    }
                }
            }
            for _ in 0..<50 {
                _ = try await killer.send(
                    Command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
            }
            try await group.waitForAll()
        }
        #expect(answered.count > 0)
        #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
    }

    @Test func `a Redis that was killed and started again is found again`() async throws {
        let redis = try await OwnRedis()
        let connection = try redis.connection()
        _ = try await connection.send(Command("SET", "k", "v"))
        try await redis.kill()
        for _ in 0..<2 {
            let error = await failure { _ = try await connection.send(Command("GET", "k")) }
            #expect(error?.isUnreachable == true)
        }
        try await redis.start()
        #expect(try await connection.send(Command("GET", "k")).isNull)
    }
}
