import Errand
import FoundationEssentials
package import ErrandPostgres

/// One past or upcoming event of a job.
package struct JobHistoryEntry: Sendable, Equatable {
    package enum Event: String, Sendable {
        case created, failed, started, completed, cancelled, dead
        /// Older failures are not kept.
        case forgotten
        /// The job is due.
        case due
        /// The job enqueued another job.
        case child
        /// The job performed an effect outside the database, once.
        case effect
        /// The outcome of the job's occurrence of a schedule.
        case occurrence
        /// Further entries are left out.
        case more
    }

    package var event: Event
    package var at: Instant?
    package var attempt: Int?
    package var worker: Int64?
    /// The duration of the attempt, if known.
    package var duration: Duration?
    /// The error, the reason or the origin.
    package var text: String?
}

extension JobRecord {
    private struct Failure: Decodable {
        var attempt: Int?
        var at: Instant?
        var worker: Int64?
        var durationMs: Double?
        var error: String?

        enum CodingKeys: String, CodingKey {
            case attempt, at, worker, error
            case durationMs = "duration_ms"
        }

        var duration: Duration? { durationMs.map { .bounded(milliseconds: $0) } }
    }

    // A malformed entry, written by hand, must not break the rest.
    private var failures: [Failure] {
        (try? JSONDecoder().decode([Failure].self, from: Data(errors))) ?? []
    }

    /// When the first attempt started, or an earlier time; nil if the job has never run.
    var firstStart: Instant? {
        guard let first = failures.first else { return startedAt }
        guard failures.count < Self.kept, let at = first.at, let duration = first.duration else {
            return createdAt
        }
        return at.adding(.zero - duration)
    }

    /// The number of failures that a job keeps (`errand.with_error`).
    private static let kept = 25

    /// The history of the job in order of time.
    package var history: [JobHistoryEntry] {
        var history = [JobHistoryEntry(event: .created, at: createdAt, text: maker)]
        let failures = failures
        if failures.count >= Self.kept { history.append(JobHistoryEntry(event: .forgotten)) }
        for failure in failures {
            history.append(
                JobHistoryEntry(
                    event: .failed, at: failure.at, attempt: failure.attempt,
                    worker: failure.worker, duration: failure.duration, text: failure.error))
        }
        let length = duration
        // If the last attempt failed, its failure is already listed.
        let hasFailed = failures.last.map { $0.attempt == attempt } ?? false
        if hasFailed, finishedAt != nil, history[history.count - 1].duration == nil {
            history[history.count - 1].duration = length
        }
        if let startedAt, !(hasFailed && finishedAt != nil) {
            history.append(
                JobHistoryEntry(event: .started, at: startedAt, attempt: attempt, worker: worker))
        }
        switch state {
        case .completed:
            history.append(
                JobHistoryEntry(
                    event: .completed, at: finishedAt, attempt: attempt, worker: worker,
                    duration: length))
        case .cancelled:
            history.append(
                JobHistoryEntry(
                    event: .cancelled, at: finishedAt, duration: hasFailed ? nil : length,
                    text: reason))
        case .dead: history.append(JobHistoryEntry(event: .dead, at: finishedAt, text: reason))
        case .scheduled, .available, .retrying:
            history.append(JobHistoryEntry(event: .due, at: runAt))
        case .running: break
        }
        return history
    }

    /// The origin of the job.
    private var maker: String {
        if let occurrence {
            let merged = occurrence.missed.count
            return "by schedule \(occurrence.schedule), for \(Instant(date: occurrence.due))"
                + (merged > 0 ? " and \(merged) missed earlier" : "")
        }
        if let parent = origin?.parent { return "by job \(parent)" }
        if let name = origin?.operatorName { return "by \(name), with errand enqueue" }
        return "by a program, in SQL or Swift"
    }
}
