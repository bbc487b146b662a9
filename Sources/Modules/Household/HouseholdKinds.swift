package import Errand
package import ErrandNotification

/// The jobs of Household.
package enum HouseholdKinds {
    /// Adds the kinds to those of a program, with their schedules.
    ///
    /// - Parameter catalogue: the notices, with their words.
    package static func add(to kinds: inout JobKinds, notices catalogue: NoticeCatalogue) {
        kinds.handle(PlanHousehold.self) { job, context in
            try await PlanHousehold.run(job, context)
        }
        kinds.handle(TakeChores.self) { _, context in try await TakeChores.run(context) }
        kinds.handle(NotifyBalances.self) { _, context in try await NotifyBalances.run(context) }
        kinds.handle(SweepHouseholds.self) { _, context in
            try await SweepHouseholds.run(context)
        }
        kinds.handle(WatchZones.self) { _, context in try await WatchZones.run(context) }
        kinds.handle(NotifyHousehold.self) { job, context in
            try await NotifyHousehold.run(job, context, by: catalogue)
        }
        do {
            kinds.schedule(try TakeChores.schedule())
            kinds.schedule(try NotifyBalances.schedule())
            kinds.schedule(try SweepHouseholds.schedule())
            kinds.schedule(try WatchZones.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
