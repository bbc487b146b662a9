package import Errand

/// Tells people, in their own day, of coupons that expire soon: see ``Expiry``.
///
/// A schedule makes one each hour, and the hour that it is for is its present time.
package struct RemindOfExpiry: Job {
    package static let kind = "coupons.expiring"
    /// It gives up within the hour: the next run does its work too.
    package static let options = JobOptions(
        queue: "coupons", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(1_800))

    package init() {}
}

extension CouponKinds {
    /// Each hour, because somewhere it is ten o'clock; when hours were missed the latest does for
    /// all of them, and a run that is not over yet for the one that would follow.
    static func expirySchedule() throws -> Schedule {
        try Schedule(
            "coupons.expiring", "0 * * * *", run: RemindOfExpiry(),
            catchUp: .latest(within: .seconds(86_400)), overlap: .skip)
    }
}
