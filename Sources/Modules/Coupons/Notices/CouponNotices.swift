package import ErrandNotification

extension NoticeKind.App {
    /// Its users earn and spend money: their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// What people are told of their coupons.
extension NoticeKind {
    static let coupon = [couponNearby, couponExpiring, couponRedeemed]

    /// A coupon of theirs counts close by.
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

    /// Coupons of theirs with one last day; told three days and one day before.
    ///
    /// `titles` are the first of them, `more` is how many it leaves out, `count` of all.
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

    /// A coupon of theirs was redeemed; told at once, at any hour: it may not have been by them.
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
