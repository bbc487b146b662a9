package import Errand
package import ErrandPostgres

/// Which jobs an operator means; all that is set must hold, and what is nil filters nothing.
///
/// Its JSON form is kept with a bulk operation, so that one can be resumed.
package struct JobFilter: Sendable, Equatable, Codable {
    /// A value among a job's arguments.
    package struct Argument: Sendable, Equatable, Codable {
        package var name: String
        /// As given: what is a number, `true`, `false` or `null` matches the same text as well.
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
    /// Made so long ago, or, for one that has ended, ended.
    package var olderMs: Int64?
    package var newerMs: Int64?
    /// In the last error: a text, whatever its capitals, or `~` and a regular expression.
    package var error: String?
    package var arguments: [Argument]?
    /// The worker that has it, or had it last.
    package var worker: Int64?
    /// The schedule that made it.
    package var schedule: String?
    /// Only dead letters with this fingerprint.
    package var fingerprint: String?
    package var ids: [Int64]?
    /// The moment from which ages are counted; nil means now.
    package var asOf: Instant?

    /// Only jobs with lower ids.
    package var before: Int64?
    /// Only jobs with higher ids.
    package var after: Int64?
    /// The newest come first unless it is set.
    package var isOldestFirst = false
    package var limit = 50

    // A page is no part of what is meant.
    private enum CodingKeys: String, CodingKey {
        case queue, kind, tag, key, states, olderMs, newerMs, error, arguments, worker, schedule
        case fingerprint, ids, asOf
    }

    package init() {}

    /// Whether it lets everything pass.
    package var isEmpty: Bool { self == JobFilter() }
}
