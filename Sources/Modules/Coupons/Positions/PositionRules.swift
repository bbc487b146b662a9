package import FoundationEssentials

/// Which reports of a position are worth looking at.
package enum PositionRules {
    /// Older reports say where somebody was, not where they are.
    package static let oldest: TimeInterval = 600
    /// Devices' clocks run ahead a little.
    package static let clockTolerance: TimeInterval = 60
    /// The widest circle around a branch that an offer may name, in metres.
    package static let widestRadius = 5_000.0

    /// Why a report is dropped; nil when it is good.
    ///
    /// Whether it is good enough for the radius of an offer is decided for each offer.
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

    /// Why a good report says too little for a person's offers; nil when it is good enough.
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
