import ErrandTerminal

/// The limits above which `errand status` and `errand doctor` report a problem.
struct StatusLimits {
    var oldestWarning: Duration
    var oldestCritical: Duration
    var deadWarning: Int
    var deadCritical: Int
    var transactionWarning: Duration
    var transactionCritical: Duration

    private static let oldestWarning = limit(
        "oldest-warning", .seconds(60), "Warn when a job has waited this long")
    private static let oldestCritical = limit(
        "oldest-critical", .seconds(600), "Critical when a job has waited this long")
    private static let deadWarning = count(
        "dead-warning", 1, "Warn on N dead letters within an hour")
    private static let deadCritical = count(
        "dead-critical", 100, "Critical on N dead letters within an hour")
    private static let transactionWarning = limit(
        "transaction-warning", .seconds(300), "Warn on a transaction open for this long")
    private static let transactionCritical = limit(
        "transaction-critical", .seconds(3_600), "Critical on a transaction open for this long")

    static let options: [any DeclaredOption] = [
        oldestWarning, oldestCritical, deadWarning, deadCritical, transactionWarning,
        transactionCritical,
    ]

    private static func limit(_ name: String, _ value: Duration, _ help: String) -> Option<Duration>
    {
        .duration(name, default: value, help: help)
    }

    private static func count(_ name: String, _ value: Int, _ help: String) -> Option<Int> {
        .integer(name, default: value, range: 1...1_000_000_000, placeholder: "N", help: help)
    }

    init(_ invocation: Invocation) {
        oldestWarning = invocation[Self.oldestWarning]
        oldestCritical = invocation[Self.oldestCritical]
        deadWarning = invocation[Self.deadWarning]
        deadCritical = invocation[Self.deadCritical]
        transactionWarning = invocation[Self.transactionWarning]
        transactionCritical = invocation[Self.transactionCritical]
    }
}
