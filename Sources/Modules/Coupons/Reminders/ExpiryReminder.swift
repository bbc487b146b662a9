package import Errand

/// Notifies people, in their own time zone, of coupons that expire soon: see ``Expiry``.
///
/// A schedule enqueues it every hour; the run uses the time of its occurrence.
package struct RemindOfExpiry: Job {
    package static let kind = "coupons.expiring"
    /// The attempts end within the hour: the next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(1_800))

    package init() {}
}

extension CouponKinds {
    /// Runs every hour because notice times differ by time zone.
    ///
    /// After an outage only the latest missed run happens. A run that is still active replaces the
    /// next one.
    static func expirySchedule() throws -> Schedule {
        try Schedule(
            "coupons.expiring", "0 * * * *", run: RemindOfExpiry(),
            catchUp: .latest(within: .seconds(86_400)), overlap: .skip)
    }
}
