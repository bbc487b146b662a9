/// What people are told of whichever app they use: their account, and news of the company.
extension NoticeKind {
    static let account = [accountEmailCode, accountPasswordReset, companyNews]

    /// The code that shows that an address is theirs; recorded to expire after its minutes.
    package static let accountEmailCode = urgentCode("account.email_code")

    /// The code by which they choose a new password; recorded to expire after its minutes.
    package static let accountPasswordReset = urgentCode("account.password_reset")

    private static func urgentCode(_ name: String) -> NoticeKind {
        var kind = NoticeKind(
            name, app: .account, channels: [.email], fields: ["code": .text, "minutes": .count])
        kind.urgency = .urgent
        return kind
    }

    /// What the company has to say; its words are in the data.
    package static let companyNews: NoticeKind = {
        var kind = NoticeKind(
            "company.news", app: .account, channels: [.push, .email, .inbox],
            fields: ["headline": .text, "summary": .text, "body": .text])
        kind.urgency = .promotional
        kind.timing = .ownTime
        return kind
    }()
}
