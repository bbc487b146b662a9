import Errand
import ErrandTerminal

/// What commands that change something have in common.
package enum AuditOptions {
    /// Stands in the audit beside the change.
    package static let reason = Option<String?>.text("reason", help: "Why, for the record")
}

/// How many in a time: `100/s`, `50/m`, `20/h` or `0.5/s`.
package struct Rate: Sendable {
    package var perSecond: Double
    package var text: String

    package static let format = ValueFormat(
        "RATE", expected: "a rate such as 100/s, 50/m or 20/h"
    ) { Rate($0) }

    private init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Double(parts[0]), count > 0, count <= 1_000_000
        else { return nil }
        switch parts[1] {
        case "s": perSecond = count
        case "m": perSecond = count / 60
        case "h": perSecond = count / 3_600
        default: return nil
        }
        self.text = text
    }
}
