package import Errand
package import ErrandPostgres

/// A filter of jobs: a job must match every field that is not nil.
///
/// A bulk operation stores its JSON form, so that it can be resumed.
package struct JobFilter: Sendable, Equatable, Codable {
    /// A value of a job's arguments.
    package struct Argument: Sendable, Equatable, Codable {
        package var name: String
        /// The value; a number, `true`, `false` or `null` also matches a string of the same text.
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var queue: String?
    package var kind: String?
    package var tag: String?
    /// The unique key.
    package var key: String?
    package var states: [JobState]?
    /// The minimum age in milliseconds: since a job was created or, once finished, finished.
    package var olderMs: Int64?
    /// The maximum age in milliseconds.
    package var newerMs: Int64?
    /// A part of the last error, case-insensitive, or `~` and a regular expression.
    package var error: String?
    package var arguments: [Argument]?
    /// The worker that runs the job, or ran it last.
    package var worker: Int64?
    /// The schedule that enqueued the job.
    package var schedule: String?
    /// The fingerprint of dead letters.
    package var fingerprint: String?
    package var ids: [Int64]?
    /// The time at which ages are computed; nil means now.
    package var asOf: Instant?

    /// Only jobs with lower ids.
    package var before: Int64?
    /// Only jobs with higher ids.
    package var after: Int64?
    /// Sorts the oldest jobs first, instead of the newest.
    package var isOldestFirst = false
    package var limit = 50

    // The fields of paging are not stored.
    private enum CodingKeys: String, CodingKey {
        case queue, kind, tag, key, states, olderMs, newerMs, error, arguments, worker, schedule
        case fingerprint, ids, asOf
    }

    package init() {}

    /// Whether the filter matches every job.
    package var isEmpty: Bool { self == JobFilter() }
}
