package import Errand
package import ErrandNotification

/// The jobs of missions.
package enum MissionKinds {
    /// Adds the kinds to those of a program, with their schedules.
    ///
    /// - Parameter catalogue: the notices, with their words.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        kinds.handleWithOutcome(AssignMissions.self) { job, context in
            try await AssignMissions.run(job, context)
        }
        kinds.handle(HireShoppers.self) { _, context in try await HireShoppers.run(context) }
        kinds.handle(SweepMissions.self) { _, context in try await SweepMissions.run(context) }
        kinds.handle(NotifyOfMissions.self) { job, context in
            try await NotifyOfMissions.run(job, context, by: catalogue)
        }
        do {
            kinds.schedule(try AssignMissions.schedule())
            kinds.schedule(try HireShoppers.schedule())
            kinds.schedule(try SweepMissions.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
