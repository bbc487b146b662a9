package import Errand
package import ErrandNotification

/// The jobs of badges.
package enum BadgeKinds {
    /// Adds the kinds to those of a program, with their schedule.
    ///
    /// - Parameter catalogue: the notices, with their words.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        kinds.handleBatch(BadgeEarned.self, upTo: BadgeEarned.batchLimit) { batch in
            try await BadgeEarned.handle(batch, notices: catalogue)
        }
        kinds.handle(RecountBadges.self) { _, context in try await RecountBadges.run(context) }
        do {
            kinds.schedule(try RecountBadges.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
