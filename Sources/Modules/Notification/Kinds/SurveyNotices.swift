/// What users of the survey app are told of: their coupons, surveys, missions and payouts.
extension NoticeKind {
    static let survey = [
        couponNearby, couponExpiring, couponRedeemed, surveyExpiring, missionOffered,
        missionWaiting, missionAgreed, missionDueSoon, missionUnfinished, missionMissed,
        missionHired,
        missionSuspended, missionDismissed, missionWithdrawn,
        missionReturned, missionPaid, missionRejected, payoutHeld, payoutIssued, payoutReturned,
    ]

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

    /// A survey that they may still answer.
    package static let surveyExpiring: NoticeKind = {
        var kind = NoticeKind(
            "survey.expiring", app: .survey, channels: [.push, .inbox],
            fields: [
                "title": .text, "reward": .amount, "days_left": .count, "last_day": .day,
            ])
        kind.timing = .ownTime
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A mission is kept for them until they answer.
    package static let missionOffered: NoticeKind = {
        var kind = NoticeKind(
            "mission.offered", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "title": .text, "branch": .text, "pay": .amount, "starts_at": .time,
                "ends_at": .time, "answer_by": .time,
            ])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// What they were offered is kept for them for a short time only.
    package static let missionWaiting: NoticeKind = {
        var kind = NoticeKind(
            "mission.waiting", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "pay": .amount, "answer_by": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A mission that they agreed to elsewhere, on the phone for example, is theirs.
    package static let missionAgreed = NoticeKind(
        "mission.agreed", app: .survey, channels: [.push, .email, .inbox],
        fields: [
            "title": .text, "branch": .text, "pay": .amount, "starts_at": .time, "ends_at": .time,
        ])

    /// A mission that they took ends soon.
    package static let missionDueSoon: NoticeKind = {
        var kind = NoticeKind(
            "mission.due_soon", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "ends_at": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// What they have begun at a branch is to be handed in soon.
    package static let missionUnfinished: NoticeKind = {
        var kind = NoticeKind(
            "mission.unfinished", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "ends_at": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A mission that they took has ended without them.
    package static let missionMissed = NoticeKind(
        "mission.missed", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "ended_at": .time])

    /// They are sent on missions from now on.
    package static let missionHired = NoticeKind(
        "mission.hired", app: .survey, channels: [.push, .email, .inbox], fields: [:])

    /// They get no missions for now.
    package static let missionSuspended = NoticeKind(
        "mission.suspended", app: .survey, channels: [.push, .email, .inbox],
        fields: ["reason": .text])

    /// They get no missions any more.
    package static let missionDismissed = NoticeKind(
        "mission.dismissed", app: .survey, channels: [.push, .email, .inbox],
        fields: ["reason": .text])

    /// A mission of theirs was taken back.
    package static let missionWithdrawn = NoticeKind(
        "mission.withdrawn", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "reason": .text])

    /// What they handed in came back to them.
    package static let missionReturned = NoticeKind(
        "mission.returned", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "reason": .text, "ends_at": .time])

    /// A mission of theirs was approved, and its pay is in their balance.
    package static let missionPaid = NoticeKind(
        "mission.paid", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "pay": .amount])

    /// What they handed in is worth nothing.
    package static let missionRejected = NoticeKind(
        "mission.rejected", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "reason": .text])

    /// Something is missing to pay them what they have earned.
    package static let payoutHeld = NoticeKind(
        "payout.held", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])

    /// Their earnings are on the way; `cheque` is its number, empty for a direct deposit.
    package static let payoutIssued = NoticeKind(
        "payout.issued", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "cheque": .text, "pay_date": .day])

    /// A payout came back, and the money is theirs as before.
    package static let payoutReturned = NoticeKind(
        "payout.returned", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])
}
