package import ErrandNotification

extension NoticeKind.App {
    static let vote = NoticeKind.App("vote")
}

/// What users of the vote app are told of.
extension NoticeKind {
    static let vote = [votePublished, voteReview]

    /// The result of a vote that they took part in, or opened, is out.
    ///
    /// Told to all at one moment, at any hour. It says nothing of the result: a locked screen is
    /// not the place for it.
    package static let votePublished: NoticeKind = {
        var kind = NoticeKind(
            "vote.published", app: .vote, channels: [.push, .email, .inbox],
            fields: ["subject": .text])
        kind.urgency = .urgent
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// In a vote that they opened several people gave one name: they have to look at it.
    ///
    /// `count` is of such names.
    package static let voteReview = NoticeKind(
        "vote.review", app: .vote, channels: [.push, .email, .inbox],
        fields: ["subject": .text, "count": .count, "until": .time])
}
