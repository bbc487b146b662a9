/// How a line of the log is written, where `ERRAND_LOG_FORMAT` says so.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people.
    case text
    /// One JSON object a line.
    case json

    private static let variable = "ERRAND_LOG_FORMAT"

    /// What an environment asks for; nil when it leaves the choice to the program.
    package static func given(
        _ environment: [String: String]
    ) throws(CommandFailure) -> LogFormat? {
        guard let word = environment[variable], !word.isEmpty else { return nil }
        if let format = LogFormat(rawValue: word) { return format }
        let names = allCases.map(\.rawValue)
        let guess = nearest(to: word, among: names).map { "did you mean \($0)? " } ?? ""
        throw CommandFailure(
            exit: .usage, message: "\(variable)=\(word): there is no such format",
            hint: guess + "there are: \(names.joined(separator: ", "))")
    }

    /// Whether all that goes to standard error is to be JSON: somebody collects it.
    static func isCollected(_ environment: [String: String], _ screen: Screen) -> Bool {
        !screen.errorIsTerminal && environment[variable] == LogFormat.json.rawValue
    }
}
