import Testing

@testable import ErrandRedis

@Suite("Commands and replies") struct CommandTests {
    @Test func `a command is sent as an array of bulk strings`() {
        var command = Command("SET", "ké")
        command.append("")
        command.append(-120)
        let text = "*4\r\n$3\r\nSET\r\n$3\r\nké\r\n$0\r\n\r\n$4\r\n-120\r\n"
        #expect(String(decoding: command.bytes, as: UTF8.self) == text)
    }

    @Test func `numbers arrive as they were given`() async throws {
        let connection = try SharedRedis.connection()
        func echo(_ number: some FixedWidthInteger & Sendable) async throws {
            var command = Command("ECHO")
            command.append(number)
            #expect(try await connection.send(command).text == String(number))
        }
        for number in [0, 1, 9, 10, 99, 100, -1, -9, -10, Int64.min, .max] {
            try await echo(number)
        }
        try await echo(UInt64.max)
        try await echo(Int16.min)
    }

    @Test func `each kind of answer is told from the others`() async throws {
        let connection = try SharedRedis.connection()
        let key = fresh("key")
        #expect(try await connection.send(Command("PING")) == .status("PONG"))
        #expect(try await connection.send(Command("GET", key)) == .null)
        #expect(try await connection.send(Command("INCRBY", key, "-7")) == .integer(-7))
        #expect(try await connection.send(Command("GET", key)) == .text("-7"))
        #expect(try await connection.send(Command("APPEND", key, "")) == .integer(2))
        #expect(try await connection.send(Command("KEYS", fresh("none"))) == .array([]))
        #expect(
            try await connection.send(Command("MGET", key, fresh("none")))
                == .array([.text("-7"), .null]))
        #expect(try await connection.send(Command("DEL", key)) == .integer(1))
    }

    @Test func `an answer inside an answer keeps its shape`() async throws {
        let connection = try SharedRedis.connection()
        let lua = "return {1, {'two', {}, {false, 3}}, redis.status_reply('OK'), ''}"
        #expect(
            try await connection.send(Command("EVAL", lua, "0"))
                == .array([
                    .integer(1), .array([.text("two"), .array([]), .array([.null, .integer(3)])]),
                    .status("OK"), .text(""),
                ]))
    }

    @Test func `an array that is null is null`() async throws {
        let reply = try await SharedRedis.connection().send(Command("LPOP", fresh("none"), "2"))
        #expect(reply.isNull)
    }

    @Test func `bytes of every value come through`() async throws {
        let connection = try SharedRedis.connection()
        let key = fresh("bytes")
        let lua = """
            local all = {}
            for byte = 0, 255 do all[#all + 1] = string.char(byte) end
            redis.call('SET', KEYS[1], table.concat(all) .. '\\r\\n')
            """
        _ = try await connection.send(Command("EVAL", lua, "1", key))
        #expect(
            try await connection.send(Command("GET", key)) == .string(Array(0...255) + [13, 10]))
        _ = try await connection.send(Command("DEL", key))
    }

    @Test func `texts of every length come through`() async throws {
        let connection = try SharedRedis.connection()
        let texts = [0, 1, 16_383, 16_384, 16_385, 3_000_000].map {
            String(repeating: "é", count: $0)
        }
        for text in texts + ["$5\r\nhello\r\n", "a\0b", "👩‍👩‍👧"] {
            let reply = try await connection.send(Command("ECHO", text))
            #expect(reply.text == text)
        }
    }

    @Test func `an error answer is thrown, and the connection stays`() async throws {
        let connection = try SharedRedis.connection()
        let id = try await connection.send(Command("CLIENT", "ID"))
        for command in [Command("NOSUCH"), Command("GET"), Command("EXPIRE", "k", "x")] {
            let error = await failure { _ = try await connection.send(command) }
            #expect(error?.isServer == true)
            #expect(error?.isTransient == false)
            #expect(error?.description.hasPrefix("Redis answered: ERR ") == true)
        }
        #expect(try await connection.send(Command("CLIENT", "ID")) == id)
    }

    @Test func `a pipeline is answered in its order, errors in their places`() async throws {
        let connection = try SharedRedis.connection()
        var commands = (0..<10_000).map { Command("ECHO", String($0)) }
        commands[5_000] = Command("NOSUCH")
        let replies = try await connection.pipeline(commands)
        #expect(replies.count == 10_000)
        for (place, reply) in replies.enumerated() where place != 5_000 {
            #expect(reply.int == Int64(place))
        }
        guard case .error(let text) = replies[5_000] else {
            Issue.record("no error in its place: \(replies[5_000])")
            return
        }
        #expect(text.hasPrefix("ERR unknown command"))
        #expect(try await connection.send(Command("ECHO", "next")).text == "next")
    }

    @Test func `a pipeline larger than the sockets' buffers is sent and answered`() async throws {
        let connection = try SharedRedis.connection()
        let text = String(repeating: "x", count: 200_000)
        let replies = try await connection.pipeline(
            (0..<100).map { Command("ECHO", "\($0) \(text)") })
        #expect(replies.map(\.text) == (0..<100).map { "\($0) \(text)" })
    }

    @Test func `an empty pipeline asks nobody`() async throws {
        let nowhere = Connection(
            try RedisAddress(url: "unix:///nonexistent/redis.sock"), name: "test")
        #expect(try await nowhere.pipeline([]).isEmpty)
    }

    @Test(
        arguments: [
            (.integer(-3), -3, "-3"), (.text("12"), 12, "12"), (.text("1 2"), nil, "1 2"),
            (.status("OK"), nil, "OK"), (.status("5"), 5, "5"), (.null, nil, nil),
            (.array([.integer(1)]), nil, nil), (.error("ERR 1"), nil, nil),
            (.text("9223372036854775808"), nil, "9223372036854775808"),
        ] as [(Reply, Int64?, String?)])
    func `a reply is read as a number and as a text`(
        _ reply: Reply, _ number: Int64?, _ text: String?
    ) {
        #expect(reply.int == number)
        #expect(reply.text == text)
        #expect(reply.isNull == (reply == .null))
        #expect((reply.array != nil) == (reply == .array([.integer(1)])))
    }

    @Test(arguments: [
        ("LOADING Redis is loading the dataset in memory", true), ("BUSY Redis is busy", true),
        ("READONLY You can't write against a read only replica.", true),
        ("MASTERDOWN Link with MASTER is down", true), ("TRYAGAIN Multiple keys", true),
        ("ERR unknown command", false), ("OOM command not allowed", false),
    ])
    func `what may pass by itself is told from what will not`(_ text: String, _ passes: Bool) {
        #expect(RedisError.server(text).isTransient == passes)
    }
}
