import ErrandRedis
import ErrandTestServices
import Testing

@Suite("Scripts in Redis") struct ScriptTests {
    private static let echo = Script("return {KEYS[1], ARGV[1], #ARGV}")
    private static let numbers = Script("return ARGV")

    private func arguments(_ texts: String...) -> Arguments {
        var arguments = Arguments()
        for text in texts { arguments.append(text) }
        return arguments
    }

    private func run(_ connection: Connection) async throws {
        #expect(
            try await connection.run(Self.echo, keys: ["k"], arguments: arguments("é", "2"))
                == .array([.text("k"), .text("é"), .integer(2)]))
    }

    @Test func `a script gets its keys and arguments`() async throws {
        let connection = try SharedRedis.connection()
        try await run(connection)
        try await run(connection)
        let none = try await connection.run(
            Script("return #KEYS + #ARGV"), keys: [], arguments: Arguments())
        #expect(none == .integer(0))
    }

    @Test func `arguments are numbers and texts, as many as there are`() async throws {
        var arguments = Arguments()
        for number in 0..<5_000 { arguments.append(number) }
        arguments.append(Int64.min)
        arguments.append(Int64.max)
        let found = try await SharedRedis.connection().runForIntegers(
            Self.numbers, keys: [], arguments: arguments)
        #expect(found == Array(0..<5_000) + [.min, .max])
    }

    @Test func `a key of another type is recognized, in a command and in a script`() async throws {
        let connection = try SharedRedis.connection()
        let key = fresh("text")
        _ = try await connection.send(Command("SET", key, "x", "EX", "60"))
        let script = Script("return redis.call('ZCARD', KEYS[1])")
        let plain = await failure { _ = try await connection.send(Command("ZCARD", key)) }
        let inScript = await failure {
            _ = try await connection.run(script, keys: [key], arguments: Arguments())
        }
        #expect(plain?.isWrongType == true && inScript?.isWrongType == true)
        let other = await failure { _ = try await connection.send(Command("SET", key)) }
        #expect(other?.isWrongType == false)
    }

    @Test func `after SCRIPT FLUSH a known script is loaded again`() async throws {
        let redis = try await OwnRedis()
        let connection = try redis.connection()
        for _ in 0..<3 {
            try await run(connection)
            let one = try await connection.runForIntegers(
                Self.numbers, keys: [], arguments: arguments("1"))
            #expect(one == [1])
            _ = try await connection.send(Command("SCRIPT", "FLUSH"))
        }
    }

    @Test func `a restarted Redis gets the script anew`() async throws {
        let redis = try await OwnRedis()
        let connection = try redis.connection()
        try await run(connection)
        try await redis.kill()
        let error = await failure { try await run(connection) }
        #expect(error?.isUnreachable == true)
        try await redis.start()
        try await run(connection)
    }

    @Test func `answers that are numbers are flattened`() async throws {
        let connection = try SharedRedis.connection()
        let script = Script(
            "return {1, {'2', {-3}, {}}, '-9223372036854775808', false, '9223372036854775807'}")
        let found = try await connection.runForIntegers(script, keys: [], arguments: Arguments())
        #expect(found == [1, 2, -3, .min, .max])
        let single = try await connection.runForIntegers(
            Script("return 7"), keys: [], arguments: Arguments())
        #expect(single == [7])
        let nothing = try await connection.runForIntegers(
            Script("return nil"), keys: [], arguments: Arguments())
        #expect(nothing.isEmpty)
    }

    @Test(arguments: [
        "", "-", "+1", "1.5", "x", "1 ", " 1", "--1", "1-", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999",
    ])
    func `an answer that is no number is refused, and the next caller gets its own`(
        _ text: String
    ) async throws {
        let connection = try SharedRedis.connection()
        let error = await failure {
            _ = try await connection.runForIntegers(
                Self.numbers, keys: [], arguments: arguments("1", text, "3"))
        }
        #expect(error == .server("expected a number, not \"\(text)\""))
        #expect(try await connection.send(Command("ECHO", "mine")).text == "mine")
    }

    @Test func `an error inside a script is thrown by both ways of running it`() async throws {
        let connection = try SharedRedis.connection()
        let script = Script("return redis.error_reply('MINE ' .. ARGV[1])")
        let first = await failure {
            _ = try await connection.run(script, keys: [], arguments: arguments("one"))
        }
        #expect(first == .server("MINE one"))
        let second = await failure {
            _ = try await connection.runForIntegers(script, keys: [], arguments: arguments("two"))
        }
        #expect(second == .server("MINE two"))
        try await run(connection)
    }

    @Test func `a script that does not compile says so`() async throws {
        let connection = try SharedRedis.connection()
        let error = await failure {
            _ = try await connection.run(
                Script("return ("), keys: [], arguments: Arguments())
        }
        #expect(error?.isServer == true)
        #expect(error?.description.contains("Error compiling script") == true)
        try await run(connection)
    }
}
