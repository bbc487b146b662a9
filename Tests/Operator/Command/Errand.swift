import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// The tests that run the binary against the private servers.
@Suite("Command line", .database) enum CommandLine {}

/// The same of the commands for jobs, dead letters and queues.
@Suite("Commands for jobs", .database) enum JobCommands {}

/// The same of what the apps need: coupons, notices, votes, money, missions.
@Suite("Commands for apps", .database) enum AppCommands {}

/// What one run of `errand` printed, and how it ended.
struct Run {
    var arguments: [String]
    var output: String
    var errors: String
    var code: Int32

    /// Standard output as JSON, one value a line.
    var records: [JSON] {
        get throws { try Self.values(output) }
    }

    /// The only line of standard output as JSON.
    var record: JSON {
        get throws {
            let records = try records
            guard records.count == 1 else {
                throw Program.Trouble("\(arguments) printed \(records.count) records: \(self)")
            }
            return records[0]
        }
    }

    /// The error that ended it, with `--output json`: the last line of standard error.
    var failure: JSON {
        get throws { try Self.values(errors).last ?? .null }
    }

    var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }

    private static func values(_ text: String) throws -> [JSON] {
        try text.split(separator: "\n").map {
            try JSONDecoder().decode(JSON.self, from: Data($0.utf8))
        }
    }

    /// Checks the exit code, and that standard error tells each of these.
    func expect(
        _ code: Int32, _ pieces: String..., at place: SourceLocation = #_sourceLocation
    ) {
        #expect(self.code == code, "\(arguments)\n\(output)\(errors)", sourceLocation: place)
        for piece in pieces {
            #expect(errors.contains(piece), "\(arguments)\n\(errors)", sourceLocation: place)
        }
    }
}

/// One JSON value.
enum JSON: Decodable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByNilLiteral
{
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(nilLiteral: ()) { self = .null }

    subscript(_ name: String) -> JSON {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    var names: Set<String> {
        if case .object(let members) = self { Set(members.keys) } else { [] }
    }

    var elements: [JSON] { if case .array(let values) = self { values } else { [] } }
    var number: Double? { if case .number(let value) = self { value } else { nil } }
    var text: String? { if case .text(let value) = self { value } else { nil } }

    /// An id as it is typed on the command line.
    var id: String { number.map { String(Int($0)) } ?? "none" }
}

/// Starts `errand` on the running test's database.
func start(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    through: [String] = []
) throws -> Program {
    let database = try TestDatabase.here()
    // An empty variable counts as unset: nothing of the shell that runs the tests gets in.
    let ground = [
        "DATABASE_URL": database.url, "ERRAND_OPERATOR": "tester", "ERRAND_QUEUES": "",
        "ERRAND_CONCURRENCY": "", "ERRAND_LEASE": "", "ERRAND_GRACE": "", "ERRAND_WINDOW": "",
        "ERRAND_LOG": "", "ERRAND_LOG_FORMAT": "", "ERRAND_LISTEN": "", "COLUMNS": "",
        "TZDIR": TestZones.folder ?? "", "TZ": "UTC", "ERRAND_CONTEXT": "",
        "ERRAND_READ_ONLY": "", "ERRAND_COLOR": "", "XDG_CONFIG_HOME": "/nonexistent",
    ]
    .merging(Channels.none) { $1 }
    let words = through.isEmpty ? [Program.errand] + arguments : through
    return try Program(
        words[0], Array(words.dropFirst()),
        environment: ground.merging(environment) { $1 }, input: input)
}

/// Runs `errand` to its end.
func errand(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
    at place: SourceLocation = #_sourceLocation
) async throws -> Run {
    let program = try start(arguments, input: input, environment: environment)
    return try await finish(program, arguments, at: place)
}

/// Runs `errand` to its end.
func errand(
    _ arguments: String..., input: String? = nil, environment: [String: String] = [:],
    at place: SourceLocation = #_sourceLocation
) async throws -> Run {
    try await errand(arguments, input: input, environment: environment, at: place)
}

/// Waits for a program's end and checks what holds for every command.
func finish(
    _ program: Program, _ arguments: [String] = [], at place: SourceLocation = #_sourceLocation
) async throws -> Run {
    let end = try await program.end(within: .seconds(60))
    let errors = program.errors
    guard case .exited(let code) = end else {
        throw Program.Trouble("errand \(arguments): \(end)\n\(errors)")
    }
    for trace in ["Fatal error", "Stack dump", "Thread 0", "Swift runtime", ".swift:", "Optional("]
    {
        #expect(!errors.contains(trace), "\(arguments): \(errors)", sourceLocation: place)
    }
    // The doctor's findings are its result; all others say on standard error what went wrong.
    if ![0, 10, 11].contains(code) {
        #expect(!errors.isEmpty, "\(arguments) ended with \(code)", sourceLocation: place)
    }
    let run = Run(arguments: arguments, output: program.output, errors: errors, code: code)
    try await FieldNames.check(run, at: place)
    return run
}

/// A command that has to succeed, with its only record.
@discardableResult func made(
    _ arguments: String..., input: String? = nil, at place: SourceLocation = #_sourceLocation
) async throws -> JSON {
    let run = try await errand(arguments + ["--output", "json"], input: input, at: place)
    run.expect(0, at: place)
    return try run.record
}

/// A number that the running test's database tells.
func number(_ sql: String) async throws -> Int {
    let session = try TestDatabase.here().session()
    let value = Int(try await session.query(sql).int64(0, 0))
    await session.close()
    return value
}

/// Changes the running test's database.
func change(_ sql: String) async throws {
    let session = try TestDatabase.here().session()
    try await session.script(sql)
    await session.close()
}

/// Runs `errand` on a terminal of its own, with somebody in front of it.
func onTerminal(
    _ arguments: String..., steps: [TerminalStep], rows: Int = 24, columns: Int = 80,
    environment: [String: String] = [:], at place: SourceLocation = #_sourceLocation
) async throws -> TerminalRun {
    let binary = URL(filePath: Program.errand).path
    let call = try TerminalRun.call(
        [binary] + arguments, rows: rows, columns: columns, steps: steps)
    let program = try start(
        [], input: call.input, environment: environment, through: call.words)
    let run = try await finish(program, call.words, at: place)
    let result = try JSONDecoder().decode(TerminalRun.self, from: Data(run.output.utf8))
    #expect(result.late == nil, "\(arguments)\n\(result.text)", sourceLocation: place)
    return result
}
