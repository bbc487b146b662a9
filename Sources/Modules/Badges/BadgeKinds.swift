package import Errand
package import ErrandNotification

/// The jobs of badges.
package enum BadgeKinds {
    /// Adds the kinds to those of a program, with their schedules.
    ///
    /// - Parameter catalogue: the notices, with their words.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        kinds.handle(NotifyOfBadges.self) { _, context in
            try await NotifyOfBadges.run(context, notices: catalogue)
        }
        kinds.handle(RecountBadges.self) { _, context in try await RecountBadges.run(context) }
        do {
            kinds.schedule(try NotifyOfBadges.schedule())
            kinds.schedule(try RecountBadges.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
