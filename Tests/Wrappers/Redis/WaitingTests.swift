import ErrandRedis
import ErrandTestServices
import Testing

/// Commands that wait in the server, and how another thread ends the wait.
@Suite("Waiting in Redis") struct WaitingTests {
    private func pop(_ key: String, upTo seconds: String = "60") -> Command {
        Command("BZPOPMIN", key, seconds)
    }

    @Test func `what is there already is popped without waiting`() async throws {
        let connection = try SharedRedis.connection()
        let key = fresh("queue")
        _ = try await connection.send(Command("ZADD", key, "2", "b", "1", "a"))
        let reply = try await connection.blocking(pop(key), upTo: .seconds(60))
        #expect(reply == .array([.text(key), .text("a"), .text("1")]))
        _ = try await connection.send(Command("DEL", key))
    }

    @Test func `what comes later ends the wait`() async throws {
        let name = fresh("waiting")
        let connection = try SharedRedis.connection(name)
        let other = try SharedRedis.connection()
        let key = fresh("queue")
        async let reply = connection.blocking(pop(key), upTo: .seconds(60))
        try await untilBlocked(name, seenBy: other)
        _ = try await other.send(Command("ZADD", key, "5", "late"))
        #expect(try await reply == .array([.text(key), .text("late"), .text("5")]))
        #expect(try await other.send(Command("EXISTS", key)).int == 0)
    }

    @Test func `the wait may be longer than an answer may take otherwise`() async throws {
        let connection = Connection(
            try SharedRedis.address(), name: "patient", replyTimeout: .seconds(1))
        let reply = try await connection.blocking(
            pop(fresh("queue"), upTo: "1.3"), upTo: .milliseconds(1_300))
        #expect(reply.isNull)
        #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
    }

    @Test func `an error answer to a waiting command is thrown, and the connection stays`()
        async throws
    {
        let connection = try SharedRedis.connection()
        let id = try await connection.send(Command("CLIENT", "ID"))
        let error = await failure {
            _ = try await connection.blocking(Command("BZPOPMIN", "k", "x"), upTo: .seconds(1))
        }
        #expect(error?.isServer == true)
        #expect(try await connection.send(Command("CLIENT", "ID")) == id)
    }

    @Test func `an interrupt ends the wait, and the next call connects anew`() async throws {
        let name = fresh("interrupted")
        let connection = try SharedRedis.connection(name)
        let other = try SharedRedis.connection()
        for _ in 0..<3 {
            async let error = failure {
                _ = try await connection.blocking(pop(fresh("queue")), upTo: .seconds(60))
            }
            try await untilBlocked(name, seenBy: other)
            connection.interrupt()
            #expect(await error?.isUnreachable == true)
            #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
        }
    }

    @Test func `an interrupted pop takes nothing that comes afterwards`() async throws {
        let name = fresh("interrupted")
        let connection = try SharedRedis.connection(name)
        let other = try SharedRedis.connection()
        let key = fresh("queue")
        async let error = failure {
            _ = try await connection.blocking(pop(key), upTo: .seconds(60))
        }
        try await untilBlocked(name, seenBy: other)
        connection.interrupt()
        #expect(await error?.isUnreachable == true)
        try await eventually("the server has let the waiting client go") {
            try await other.send(Command("CLIENT", "LIST")).text?.contains("name=\(name) ")
                == false
        }
        _ = try await other.send(Command("ZADD", key, "1", "a"))
        #expect(try await connection.send(Command("ZCARD", key)).int == 1)
        _ = try await other.send(Command("DEL", key))
    }

    @Test func `a cancelled task ends its wait through the interrupt`() async throws {
        let name = fresh("cancelled")
        let connection = try SharedRedis.connection(name)
        let task = Task {
            await failure {
                try await withTaskCancellationHandler {
                    _ = try await connection.blocking(pop(fresh("queue")), upTo: .seconds(60))
                } onCancel: {
                    connection.interrupt()
                }
            }
        }
        try await untilBlocked(name, seenBy: try SharedRedis.connection())
        task.cancel()
        #expect(await task.value?.isUnreachable == true)
    }

    @Test func `an interrupt while nothing is connected does no harm`() async throws {
        let connection = try SharedRedis.connection()
        connection.interrupt()
        #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
    }

    @Test func `an interrupt that comes before the wait is not lost`() async throws {
        let connection = try SharedRedis.connection()
        try await connection.connect()
        connection.interrupt()
        let error = await failure {
            _ = try await connection.blocking(pop(fresh("queue")), upTo: .seconds(60))
        }
        #expect(error?.isUnreachable == true)
        #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
    }
}
