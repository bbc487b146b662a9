package import Errand
import ErrandPostgres

/// Looks for shoppers for all missions with free slots, or for one.
///
/// By its schedule for all; for one when an urgent mission is opened or a slot becomes free.
package struct AssignMissions: Job {
    package static let kind = "missions.assign"
    package static let options = JobOptions(
        queue: "missions", priority: .high, maxAttempts: 20, backoff: Backoff(base: 2, ceiling: 60),
        timeout: .seconds(300), retention: .seconds(7 * 86_400))

    /// Nil: all that are open.
    package var missionID: Int64?

    package init(missionID: Int64? = nil) { self.missionID = missionID }

    enum CodingKeys: String, CodingKey {
        case missionID = "mission_id"
    }

    /// While another one is at it, this one waits without a session.
    private static let pause = Duration.seconds(1)
    /// While somebody holds a mission or a shopper.
    private static let busyPause = Duration.seconds(10)

    static func run(_ job: AssignMissions, _ context: JobContext) async throws -> Outcome {
        let assigner = Assigner(now: Instant(date: context.now))
        let found = try await assigner.assign(
            job.missionID, locking: context.database, offering: context.database)
        guard let result = found else { return .snooze(pause) }
        let plan = result.plan
        guard plan.missions > 0 else { return .done }
        let log = context.log.with("missions", plan.missions).with("offered", result.offered.count)
            .with("unfilled", Int(plan.slots) - result.offered.count)
        if plan.isCutShort {
            log.warning("missions are offered, by the best that was found before the time was up")
        } else {
            log.info("missions are offered")
        }
        if plan.leavesOut {
            log.warning(
                "there are more open missions than are looked at in one run, "
                    + "\(AssignmentRows.most): those that end last had to wait")
        }
        // The nearest have enough for the day by now: the next look finds those behind them.
        if !result.offered.isEmpty, plan.leavesOut || plan.unfilled.contains(where: { $0.isForNow })
        {
            return .snooze(.zero)
        }
        // What has become free goes to the next best at once; all come again by the schedule.
        guard job.missionID != nil, !result.refused.isEmpty else { return .done }
        return .snooze(result.metBusyOnes ? busyPause : pause)
    }

    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "@every 10m", run: AssignMissions(), catchUp: .latest(within: .seconds(600)),
            overlap: .skip)
    }
}
