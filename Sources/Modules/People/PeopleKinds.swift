package import Errand

/// The job kinds of the module people.
package enum PeopleKinds {
    /// Registers the kinds and their schedules.
    package static func add(to kinds: inout JobKinds) {
        kinds.handle(ErasePerson.self) { job, context in try await ErasePerson.run(job, context) }
        kinds.handle(SweepJobs.self) { _, context in try await SweepJobs.run(context) }
        kinds.handle(RunRetention.self) { _, context in try await RunRetention.run(context) }
        do {
            kinds.schedule(try SweepJobs.schedule())
            kinds.schedule(try RunRetention.schedule())
        } catch { preconditionFailure("\(error)") }
    }
}
