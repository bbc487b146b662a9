import Foundation

/// What a person does in front of a terminal, or what happens to it.
package enum TerminalStep: Sendable {
    /// Until the program has printed this after the step before.
    case wait(String)
    case send(String)
    /// Such as `TERM`.
    case signal(String)
    case resize(rows: Int, columns: Int)
    /// The terminal goes away.
    case close

    fileprivate var line: String {
        get throws {
            let encoder = JSONEncoder()
            let bytes =
                switch self {
                case .wait(let text): try encoder.encode(["wait": text])
                case .send(let keys): try encoder.encode(["send": keys])
                case .signal(let name): try encoder.encode(["signal": name])
                case .resize(let rows, let columns):
                    try encoder.encode(["resize": [rows, columns]])
                case .close: try encoder.encode(["close": true])
                }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

/// A program that ran on a terminal of its own; see Tests/Simulators/terminal/terminal.py.
package struct TerminalRun: Decodable, Sendable {
    /// Negative when a signal killed it.
    package var code: Int32
    /// All that it printed, control characters and all.
    package var output: String
    /// What came up to the end of each step.
    package var parts: [String]
    /// Set when a step waited in vain.
    package var late: [String: String]?

    /// What was printed, without the sequences that colour and move.
    package var text: String {
        var text = ""
        var rest = output[...]
        while let escape = rest.firstIndex(of: "\u{1B}") {
            text += rest[..<escape]
            rest = rest[escape...].dropFirst(2)
            rest = rest.drop { !($0.isASCII && $0.isLetter) }.dropFirst()
        }
        return (text + rest).replacingOccurrences(of: "\r", with: "")
    }

    /// What has to be started for it, and what it is to be told.
    package static func call(
        _ words: [String], rows: Int, columns: Int, steps: [TerminalStep]
    ) throws -> (words: [String], input: String) {
        let script = Checkout.simulators.appending(path: "terminal/terminal.py").path
        let lines = try steps.map { try $0.line + "\n" }
        return (
            ["/usr/bin/env", "python3", script, "\(rows)", "\(columns)"] + words, lines.joined()
        )
    }
}
