package import FoundationEssentials

/// The rules that a position report must meet.
package enum PositionRules {
    /// Maximum age of a report, in seconds.
    package static let oldest: TimeInterval = 600
    /// Maximum skew of a device's clock ahead of ours, in seconds.
    package static let clockTolerance: TimeInterval = 60
    /// Maximum radius of an offer around a branch, in metres.
    package static let widestRadius = 5_000.0

    /// Returns why a report is dropped; nil if it is valid.
    ///
    /// Its accuracy is checked against the radius of each offer separately.
    package static func objection(
        to report: PositionReport, now: Date
    ) -> String? {
        let age = now.timeIntervalSince(report.at)
        if age < -clockTolerance {
            return "from the future: \(seconds(-age)) s ahead of our clock"
        }
        if age > oldest { return "too old: \(seconds(age)) s; the limit is 600 s" }
        guard abs(report.longitude) <= 180, abs(report.latitude) <= 90 else {
            return "position \(report.longitude) \(report.latitude): expected longitude -180 to "
                + "180, then latitude -90 to 90"
        }
        guard report.accuracy > 0 else {
            return "accuracy \(metres(report.accuracy)) m: expected more than 0"
        }
        guard report.accuracy <= widestRadius else {
            return "accuracy \(metres(report.accuracy)) m is worse than any offer's radius"
        }
        return nil
    }

    /// Returns why a report is too inaccurate for a person's offers; nil if it is not.
    package static func objection(
        toAccuracy accuracy: Double, widestRadius radius: Double
    ) -> String? {
        guard accuracy > radius else { return nil }
        return "accuracy \(metres(accuracy)) m is worse than the radius of \(metres(radius)) m"
    }

    private static func seconds(_ value: TimeInterval) -> Int { Int(value.rounded()) }
    private static func metres(_ value: Double) -> String {
        value.isFinite ? "\(Int(min(max(value, -1_000_000), 1_000_000).rounded()))" : "\(value)"
    }
}
