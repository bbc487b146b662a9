/// The kinds of notice that belong to no app: the account, and news of the company.
extension NoticeKind {
    static let account = [
        accountCode, accountResetLink, accountInvitation, accountPasswordChanged, accountUnused,
        companyNews, companyTerms,
    ]

    /// A code that proves that a person reads an address; it expires after `minutes`.
    package static let accountCode = urgentMail(
        "account.code", ["code": .text, "minutes": .count], secret: "code")

    /// The link for a new password, which opens the app; it expires after `minutes`.
    package static let accountResetLink = urgentMail(
        "account.reset_link", ["link": .link, "minutes": .count], secret: "link")

    /// The link with which somebody who was added joins; `by` is who invites, or empty.
    package static let accountInvitation = urgentMail(
        "account.invitation", ["link": .link, "by": .text, "days": .count], secret: "link")

    /// The password was changed.
    package static let accountPasswordChanged = urgentMail(
        "account.password_changed", ["at": .time])

    /// Nobody uses the account: it is erased on a day.
    ///
    /// Sent by each way that may reach its person.
    package static let accountUnused: NoticeKind = {
        var kind = NoticeKind(
            "account.unused", app: .account, channels: [.push, .email], fields: ["on": .day])
        kind.urgency = .urgent
        return kind
    }()

    private static func urgentMail(
        _ name: String, _ fields: [String: Field], secret: String? = nil
    ) -> NoticeKind {
        var kind = NoticeKind(name, app: .account, channels: [.email], fields: fields)
        kind.urgency = .urgent
        kind.secrets = Set([secret].compactMap(\.self))
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

    /// New terms of the company; the data contain their texts.
    ///
    /// Each person gets them, whatever they have muted or turned off.
    package static let companyTerms: NoticeKind = {
        var kind = NoticeKind(
            "company.terms", app: .account, channels: [.email, .inbox],
            fields: ["headline": .text, "summary": .text, "body": .text, "version": .text])
        kind.isMandatory = true
        return kind
    }()
}
