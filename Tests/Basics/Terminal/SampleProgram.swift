import ErrandJSONText
import Foundation
import Testing
import ErrandTerminal

/// A program with one command of each shape.
enum Sample {
    enum State: String, CaseIterable { case available, running, dead }

    static let limit = Option.integer(
        "limit", short: "n", default: 50, range: 1...10_000, environment: "ERRAND_LIMIT",
        help: "Show at most N jobs")
    static let queue = Option.texts("queue", placeholder: "NAME", help: "Only these queues")
    static let state = Option.value("state", .choice(of: State.self), help: "Only this state")
    static let older = Option.duration("older", help: "Only jobs older than TIME")
    static let grace = Option.duration(
        "grace", default: .seconds(20), range: .seconds(1) ... .seconds(3600), help: "Time to end")
    static let to = Option.text("to", placeholder: "QUEUE", help: "The new queue").required()
    static let wide = Option.flag("wide", short: "w", environment: "ERRAND_WIDE", help: "More")
    static let depth = Option.integer("depth", range: -10...10, help: "Offset")

    static let id = Argument.required(.integer("ID", in: 1...Int.max), help: "The job")
    static let ids = Argument.several(.integer("ID"), help: "The jobs")
    static let kind = Argument.required(.text("KIND"), help: "The job's kind")
    static let args = Argument.optional(.text("ARGS"), help: "Its arguments, as JSON")

    static let list = Command(
        "job", "ls", effect: .read, summary: "List jobs, the next to run first",
        discussion: """
            Live jobs only.

            Finished jobs have states of their own.
            """,
        examples: [.init("errand job ls --older 5m", "What has waited for long")],
        options: [limit, queue, state, older, grace, wide, depth]
    ) { invocation in
        let values: JSONValue = [
            "limit": .int(invocation[limit]),
            "queues": .array(invocation[queue].map(JSONValue.text)),
            "state": invocation[state].map { .text($0.rawValue) } ?? .null,
            "older": invocation[older].map { .double($0 / .seconds(1)) } ?? .null,
            "grace": .double(invocation[grace] / .seconds(1)),
            "wide": .bool(invocation[wide]),
            "depth": invocation[depth].map(JSONValue.int) ?? .null,
            "quiet": .bool(invocation.output.isQuiet),
            "redis": .text(try invocation.redisURL()),
        ]
        try invocation.output.json(values)
        return .done
    }

    static let show = Command(
        "job", "show", effect: .read, summary: "Show a job",
        examples: [
            .init(
                "errand job show 5 --output json --database-url postgresql://app@db.example "
                    + "--redis-url redis://cache.example:6379", "With all that there is")
        ], arguments: [id]
    ) { invocation in
        try invocation.output.show(["id": .id(invocation[id])])
        return .done
    }

    static let move = Command(
        "job", "move", effect: .write, summary: "Move jobs", options: [to], arguments: [ids]
    ) { invocation in
        let count = invocation[ids].count
        try invocation.confirm("Move \(count) jobs?")
        try invocation.output.line("moved \(count) to \(invocation[to])")
        return .done
    }

    static let enqueue = Command(
        "enqueue", effect: .write, summary: "Add a job", arguments: [kind, args]
    ) {
        try $0.output.line("\($0[kind]) \($0[args] ?? "none")")
        return .done
    }

    static let migrate = Command(
        "migrate", effect: .write, summary: "Bring the schema up to date"
    ) { invocation in
        try invocation.output.line(try invocation.databaseURL())
        return .done
    }

    static let migrateStatus = Command(
        "migrate", "status", effect: .read, summary: "List migrations"
    ) { _ in
        throw CommandFailure(exit: .unreachable, message: "no answer", hint: "start the server")
    }

    static let flood = Command("flood", effect: .read, summary: "Print much") { invocation in
        for index in 0..<1_000_000 { try invocation.output.line("line \(index)") }
        return .failed
    }

    static let broken = Command("broken", effect: .read, summary: "Fail") { _ in
        throw CocoaError(.fileNoSuchFile)
    }

    static let program = Program(
        name: "errand", version: "1.2.3", summary: "runs jobs",
        nounSummaries: ["job": "Look at jobs and change them"],
        commands: [list, show, move, enqueue, migrate, migrateStatus, flood, broken],
        describe: { error in
            guard error is CocoaError else { return nil }
            return CommandFailure(exit: .notFound, message: "no such file")
        })
}

/// What a run of the sample program printed, off a terminal.
struct Printed {
    var exit: ExitCode
    var output: String
    var error: String

    /// Runs the sample program with its streams in files.
    init(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let folder = FileManager.default.temporaryDirectory
        let paths = (0..<2).map { _ in folder.appendingPathComponent(UUID().uuidString) }
        defer { for path in paths { try? FileManager.default.removeItem(at: path) } }
        for path in paths { try Data().write(to: path) }
        let handles = try paths.map { try FileHandle(forWritingTo: $0) }
        let nothing = try #require(FileHandle(forReadingAtPath: "/dev/null"))
        var environment = environment
        environment["REDIS_URL"] = environment["REDIS_URL"] ?? "redis://here"
        let screen = Screen(
            output: handles[0].fileDescriptor, error: handles[1].fileDescriptor,
            input: nothing.fileDescriptor, environment: environment)
        exit = await Sample.program.run(arguments, environment: environment, screen: screen)
        output = try String(contentsOf: paths[0], encoding: .utf8)
        error = try String(contentsOf: paths[1], encoding: .utf8)
    }

    /// Splits at spaces; nothing in these tests needs quoting.
    init(_ line: String, environment: [String: String] = [:]) async throws {
        try await self.init(
            line.split(separator: " ").map(String.init), environment: environment)
    }
}
