/// The kinds of notice that belong to no app: the account, and news of the company.
extension NoticeKind {
    static let account = [accountEmailCode, accountPasswordReset, companyNews]

    /// The code that verifies an address; it expires after `minutes`.
    package static let accountEmailCode = urgentCode("account.email_code")

    /// The code for a new password; it expires after `minutes`.
    package static let accountPasswordReset = urgentCode("account.password_reset")

    private static func urgentCode(_ name: String) -> NoticeKind {
        var kind = NoticeKind(
            name, app: .account, channels: [.email], fields: ["code": .text, "minutes": .count])
        kind.urgency = .urgent
        return kind
    }

    /// News of the company; the data contain its texts.
    package static let companyNews: NoticeKind = {
        var kind = NoticeKind(
            "company.news", app: .account, channels: [.push, .email, .inbox],
            fields: ["headline": .text, "summary": .text, "body": .text])
        kind.urgency = .promotional
        kind.timing = .ownTime
        return kind
    }()
}
