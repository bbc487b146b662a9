package import Errand

/// Notifies people, in their own time zone, of surveys that expire soon: see ``SurveyReminders``.
///
/// A schedule enqueues it every hour; the run uses the time of its occurrence.
package struct RemindOfSurveys: Job {
    package static let kind = "surveys.remind"
    /// The attempts end within the hour: the next run does its work too.
    package static let options = JobOptions(
        queue: "surveys", priority: .low, maxAttempts: 6, backoff: Backoff(base: 30, ceiling: 600),
        timeout: .seconds(1_800))

    package init() {}

    /// Runs every hour because notice times differ by time zone.
    ///
    /// After an outage only the latest missed run happens. A run that is still active replaces the
    /// next one.
    static func schedule() throws -> Schedule {
        try Schedule(
            kind, "5 * * * *", run: RemindOfSurveys(), catchUp: .latest(within: .seconds(86_400)),
            overlap: .skip)
    }
}
