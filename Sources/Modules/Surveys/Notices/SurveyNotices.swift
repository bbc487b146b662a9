package import ErrandNotification

extension NoticeKind.App {
    /// Its users earn and spend money: their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// The notices about surveys.
extension NoticeKind {
    static let survey = [surveyInvited, surveyExpiring]

    /// The person is invited to a survey without a receipt.
    package static let surveyInvited: NoticeKind = {
        var kind = NoticeKind(
            "survey.invited", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "title": .text, "establishment": .text, "reward": .amount, "minutes": .count,
                "last_day": .day,
            ])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// Surveys with the same last day expire soon; sent three days and one day before.
    ///
    /// `titles` are the first surveys, `more` is the number of the others, `count` the total.
    package static let surveyExpiring: NoticeKind = {
        var kind = NoticeKind(
            "survey.expiring", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "titles": .list, "count": .count, "more": .count, "days_left": .count,
                "last_day": .day,
            ])
        kind.timing = .ownTime
        kind.mailsOnlyWithoutPush = true
        return kind
    }()
}
