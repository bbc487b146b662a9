package import Notifications

/// What people are told of their coupons, and how it reads.
extension CouponKinds {
    /// The domain's kinds of notice with their words.
    package static let catalogue = NoticeCatalogue(
        [nearby, expiring], wording: TemplateWording([nearbyWords, expiringWords]))

    /// That a coupon counts near by: once a day, and only after the person has left.
    package static let nearby: NoticeKind = {
        var kind = NoticeKind(
            "coupon.nearby", app: .survey, channels: [.push, .email],
            fields: ["title": .text, "branch": .text, "distance": .metres, "last_day": .day])
        kind.needsLocationConsent = true
        kind.cooldown = .seconds(86_400)
        kind.mustLeave = true
        kind.mailsOnlyWithoutPush = true
        kind.recordsDrops = false
        return kind
    }()

    /// That coupons expire soon.
    package static let expiring: NoticeKind = {
        var kind = NoticeKind(
            "coupon.expiring", app: .survey, channels: [.push, .email, .inbox],
            fields: ["titles": .list, "count": .count, "days_left": .count, "last_day": .day])
        kind.timing = .ownTime
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// How the notice of a coupon near by reads.
    private static let nearbyWords = NoticeTemplate(nearby.name) {
        (facts: NearbyFacts) in
        let distance = Int((facts.distance / 10).rounded() * 10)
        let title = NoticeTemplate.escaped(facts.title)
        let branch = NoticeTemplate.escaped(facts.branch)
        return NoticeWords(
            title: "\(facts.title), \(distance) m from you",
            text: """
                You are about \(distance) m from \(facts.branch), where your coupon counts:

                    \(facts.title)

                It is good until \(facts.lastDay). Show it in the app.

                You get this because you asked for offers near you; turn it off in the app.
                """,
            html: """
                <p>You are about \(distance) m from <b>\(branch)</b>, where your coupon counts:</p>
                <p style="font-size: 140%">\(title)</p>
                <p>It is good until \(facts.lastDay). Show it in the app.</p>
                <p style="color: #666">You get this because you asked for offers near you; turn \
                it off in the app.</p>
                """)
    }

    private struct NearbyFacts: Decodable {
        var title: String
        var branch: String
        var distance: Double
        /// As `2026-11-20`.
        var lastDay: String

        enum CodingKeys: String, CodingKey {
            case title, branch, distance
            case lastDay = "last_day"
        }
    }

    /// How the notice of coupons that expire soon reads.
    private static let expiringWords = NoticeTemplate(expiring.name) {
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
        return NoticeWords(
            title: subject,
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

    private struct ExpiringFacts: Decodable {
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
