import Foundation
import ErrandTestServices

/// What a terminal's screen showed at one moment, as `Simulators/full_screen.py` tells it.
struct Picture: Decodable {
    var lines: [String] = []
    /// The rows with reversed characters.
    var reversed: [Int] = []
    var colored = false
    /// Whether the program has taken the terminal over.
    var alternate = false
    /// Whether the terminal edits lines, as it does for a shell.
    var cooked: Bool?
    /// How a program ended: its exit code, or, negative, the signal that killed it.
    var code: Int?

    private enum CodingKeys: CodingKey { case lines, reversed, colored, alternate, cooked, code }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        lines = try values.decodeIfPresent([String].self, forKey: .lines) ?? []
        reversed = try values.decodeIfPresent([Int].self, forKey: .reversed) ?? []
        colored = try values.decodeIfPresent(Bool.self, forKey: .colored) ?? false
        alternate = try values.decodeIfPresent(Bool.self, forKey: .alternate) ?? false
        cooked = try values.decodeIfPresent(Bool.self, forKey: .cooked)
        code = try values.decodeIfPresent(Int.self, forKey: .code)
    }

    var text: String { lines.joined(separator: "\n") }

    /// The line that is marked as chosen.
    var chosen: String? { lines.first { $0.hasPrefix("> ") } }
}

/// What is done to a program on a terminal, one after the other.
enum Step {
    /// Until some line of the screen matches; gives the screen.
    case wait(String)
    /// Until no line matches; gives the screen.
    case gone(String)
    case press(String)
    case resize(columns: Int, rows: Int)
    /// Runs SQL on the test's database meanwhile; gives the exit code of psql.
    case sql(String)
    /// Sends a signal, if there is one, and waits for the end; gives how it ended.
    case end(Int32?)

    fileprivate func line(database: String) throws -> String {
        let value: [String: Any] =
            switch self {
            case .wait(let pattern): ["wait": pattern]
            case .gone(let pattern): ["gone": pattern]
            case .press(let text): ["press": text]
            case .resize(let columns, let rows): ["resize": [columns, rows]]
            case .sql(let sql):
                ["run": ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql]]
            case .end(let signal): ["end": signal.map { Int($0) as Any } ?? NSNull()]
            }
        return String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
    }
}

/// Runs `errand` on a terminal of its own; the pictures that the steps gave, in order.
func onFullScreen(
    _ columns: Int, _ rows: Int, _ arguments: [String], environment: [String: String] = [:],
    _ steps: Step...
) async throws -> [Picture] {
    let database = try TestDatabase.here().url
    let script = Checkout.simulators.appending(path: "terminal/full_screen.py").path
    let input = try steps.map { try $0.line(database: database) }.joined(separator: "\n")
    let program = try start(
        arguments, input: input + "\n",
        environment: ["TERM": "xterm-256color", "NO_COLOR": ""].merging(environment) { $1 },
        // Debian's own: the package with the terminal is for that one.
        through: [
            "/usr/bin/python3", script, "\(columns)", "\(rows)", URL(filePath: Program.errand).path,
        ] + arguments)
    let end = try await program.end(within: .seconds(300))
    let pictures = try program.output.split(separator: "\n").map {
        try JSONDecoder().decode(Picture.self, from: Data($0.utf8))
    }
    guard end == .exited(0) else {
        throw Program.Trouble("\(arguments): \(end)\n\(program.output)\(program.errors)")
    }
    return pictures
}
