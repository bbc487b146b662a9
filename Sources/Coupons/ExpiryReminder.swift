package import JobQueue
package import Notifications

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

    /// How the notice of coupons that expire soon reads.
    package static let expiring = NoticeTemplate("coupon.expiring", consent: .none) {
        (facts: ExpiringFacts) in
        let soon = facts.daysLeft == 1 ? "tomorrow" : "in \(facts.daysLeft) days"
        let (subject, opening, close) =
            facts.count == 1
            ? (
                "\(facts.titles.first ?? "Your coupon") expires \(soon)",
                "This coupon of yours expires \(soon):", "Show it in the app."
            )
            : (
                "\(facts.count) of your coupons expire \(soon)",
                "These coupons of yours expire \(soon):", "Show them in the app."
            )
        let lastDay = facts.count == 1 ? "Its last day is" : "Their last day is"
        let more = facts.count - facts.titles.count
        let lines = facts.titles + (more > 0 ? ["and \(more) more"] : [])
        let list = lines.map { "    \($0)" }.joined(separator: "\n")
        let items = lines.map { "<li>\(NoticeTemplate.escaped($0))</li>" }.joined()
        return NoticeTemplate.Words(
            subject: subject,
            text: """
                \(opening)

                \(list)

                \(lastDay) \(facts.lastDay). \(close)

                You get this because you hold coupons in the app.
                """,
            html: """
                <p>\(opening)</p>
                <ul style="font-size: 140%">\(items)</ul>
                <p>\(lastDay) \(facts.lastDay). \(close)</p>
                <p style="color: #666">You get this because you hold coupons in the app.</p>
                """)
    }

    struct ExpiringFacts: Decodable {
        /// Of the first of them.
        var titles: [String]
        /// Of all.
        var count: Int
        var daysLeft: Int
        /// As `2026-11-20`.
        var lastDay: String

        enum CodingKeys: String, CodingKey {
            case titles, count
            case daysLeft = "days_left"
            case lastDay = "last_day"
        }
    }
}
