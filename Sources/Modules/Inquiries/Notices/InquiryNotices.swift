package import ErrandNotification

extension NoticeKind.App {
    /// The app in which shoppers ask; a question needs no verified age, nor does its answer.
    static let survey = NoticeKind.App("survey")
}

/// The kinds of notice of inquiries.
extension NoticeKind {
    static let inquiry = [inquiryAnswered, inquiryAnsweredNow]

    /// An agent has answered.
    ///
    /// The answer itself is read in the app.
    package static let inquiryAnswered = answered("inquiry.answered", .normal)

    /// An agent has answered a shopper who is on the mission that they ask about.
    package static let inquiryAnsweredNow = answered("inquiry.answered_now", .urgent)

    private static func answered(_ name: String, _ urgency: Urgency) -> NoticeKind {
        var kind = NoticeKind(
            name, app: .survey, channels: [.push, .email, .inbox],
            fields: ["thread": .count, "about": .text])
        kind.urgency = urgency
        kind.mailsOnlyWithoutPush = true
        return kind
    }
}
