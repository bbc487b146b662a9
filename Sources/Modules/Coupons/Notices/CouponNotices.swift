package import ErrandNotification

extension NoticeKind.App {
    /// The app in which users earn and spend money; their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// The notices about coupons.
extension NoticeKind {
    static let coupon = [couponNearby, couponExpiring, couponRedeemed]

    /// The person is near a branch that accepts one of their coupons.
    package static let couponNearby: NoticeKind = {
        var kind = NoticeKind(
            "coupon.nearby", app: .survey, channels: [.push, .email],
            fields: ["title": .text, "branch": .text, "distance": .metres, "last_day": .day])
        kind.urgency = .promotional
        kind.needsLocationConsent = true
        kind.cooldown = .seconds(86_400)
        kind.mustLeave = true
        kind.mailsOnlyWithoutPush = true
        kind.recordsDrops = false
        return kind
    }()

    /// Coupons with the same last day expire soon; sent three days and one day before.
    ///
    /// `titles` are the first coupons, `more` is the number of the others, `count` the total.
    package static let couponExpiring: NoticeKind = {
        var kind = NoticeKind(
            "coupon.expiring", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "titles": .list, "count": .count, "more": .count, "days_left": .count,
                "last_day": .day,
            ])
        kind.timing = .ownTime
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// A coupon was redeemed; sent at once, even in quiet hours, because it may be fraud.
    package static let couponRedeemed: NoticeKind = {
        var kind = NoticeKind(
            "coupon.redeemed", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "title": .text, "establishment": .text, "redeemed_at": .time,
                "confirmation": .text,
            ])
        kind.urgency = .urgent
        kind.mailsOnlyWithoutPush = true
        return kind
    }()
}
