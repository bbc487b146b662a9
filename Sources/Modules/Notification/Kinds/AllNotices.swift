extension NoticeKind {
    /// Every kind of notice that is told, of all apps, with the digests of those that merge.
    package static let all = declared + declared.compactMap(\.digest)
    private static let declared = survey + vote + household + account
}
