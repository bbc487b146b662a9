package import ErrandNotification

extension NoticeKind.App {
    /// The app in which users earn and spend money; their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// The notices about badges.
extension NoticeKind {
    static let badge = [badgeEarned]

    /// The person has earned a badge.
    ///
    /// `badge` is its title with the level, as a digest lists it; `establishment` is empty where
    /// the deeds of all establishments count.
    package static let badgeEarned: NoticeKind = {
        var kind = NoticeKind(
            "badge.earned", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "badge": .text, "title": .text, "establishment": .text, "level": .count,
            ])
        kind.mergesHeld = true
        kind.listedInDigest = "badge"
        kind.mailsOnlyWithoutPush = true
        return kind
    }()
}
