package import ErrandNotification

/// The notices about reports.
extension NoticeKind {
    static let report = [reportReady]

    /// A report of an establishment is there; sent to its contacts, who have no account.
    package static let reportReady: NoticeKind = {
        var kind = NoticeKind(
            "report.ready", app: .account, channels: [.email],
            fields: ["establishment": .text, "title": .text, "summary": .text])
        kind.urgency = .urgent
        return kind
    }()
}
