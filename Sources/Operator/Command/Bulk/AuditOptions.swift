import Errand
import ErrandTerminal

/// The options shared by commands that change something.
package enum AuditOptions {
    /// The reason of the change, for the audit log.
    package static let reason = Option<String?>.text(
        "reason", help: "The reason, for the audit log")
}

/// A rate: `100/s`, `50/m`, `20/h` or `0.5/s`.
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
