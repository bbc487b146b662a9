/// The format of log lines, from `ERRAND_LOG_FORMAT`.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people.
    case text
    /// One JSON object per line.
    case json

    private static let variable = "ERRAND_LOG_FORMAT"

    /// The format that an environment sets; nil if it sets none.
    package static func given(
        _ environment: [String: String]
    ) throws(CommandFailure) -> LogFormat? {
        guard let word = environment[variable], !word.isEmpty else { return nil }
        if let format = LogFormat(rawValue: word) { return format }
        let names = allCases.map(\.rawValue)
        let guess = nearest(to: word, among: names).map { "did you mean \($0)? " } ?? ""
        throw CommandFailure(
            exit: .usage, message: "\(variable)=\(word): unknown format",
            hint: guess + "formats: \(names.joined(separator: ", "))")
    }

    /// Whether everything on standard error must be JSON, for a log collector.
    static func isCollected(_ environment: [String: String], _ screen: Screen) -> Bool {
        !screen.errorIsTerminal && environment[variable] == LogFormat.json.rawValue
    }
}
