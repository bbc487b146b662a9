package import ErrandNotification

extension NoticeKind.App {
    static let vote = NoticeKind.App("vote")
}

/// The kinds of notice of the vote app.
extension NoticeKind {
    static let vote = [votePublished, voteReview]

    /// The result of a vote that the person joined or opened is published.
    ///
    /// Sent to all at the same moment, at any hour. Does not contain the result, as lock screens
    /// may show it.
    package static let votePublished: NoticeKind = {
        var kind = NoticeKind(
            "vote.published", app: .vote, channels: [.push, .email, .inbox],
            fields: ["subject": .text])
        kind.urgency = .urgent
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// Several voters entered the same name in a vote that the person opened: the person must
    /// resolve it.
    ///
    /// Urgent, as everybody's result waits for the answer: sent at any hour, whatever the person
    /// has muted. `count` is the number of such names.
    package static let voteReview: NoticeKind = {
        var kind = NoticeKind(
            "vote.review", app: .vote, channels: [.push, .email, .inbox],
            fields: ["subject": .text, "count": .count, "until": .time])
        kind.urgency = .urgent
        return kind
    }()
}
