extension NoticeKind {
    /// Every kind of notice that is told, of all apps.
    package static let all = survey + account
}
