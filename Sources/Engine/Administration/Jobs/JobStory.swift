import Errand
import FoundationEssentials
package import ErrandPostgres

/// One thing that happened to a job, or is to happen next.
package struct StoryEntry: Sendable, Equatable {
    package enum Event: String, Sendable {
        case made, failed, started, completed, cancelled, dead
        /// Older failures than these are not kept.
        case forgotten
        /// When it may start, from then on.
        case due
        /// It enqueued a job.
        case child
        /// It did an effect outside the database, once.
        case effect
        /// What became of the occurrence of a schedule that it is for.
        case occurrence
        /// More than these is not told.
        case more
    }

    package var event: Event
    package var at: Instant?
    package var attempt: Int?
    package var worker: Int64?
    /// How long the attempt took, where it is known.
    package var duration: Duration?
    /// The error, the reason, or where it came from.
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

        var duration: Duration? { durationMs.map { .microseconds(Int64($0 * 1000)) } }
    }

    // What somebody wrote by hand must not spoil the rest.
    private var failures: [Failure] {
        (try? JSONDecoder().decode([Failure].self, from: Data(errors))) ?? []
    }

    /// When its first attempt began, or a time before that; nil for one that never ran.
    var firstStart: Instant? {
        guard let first = failures.first else { return startedAt }
        guard failures.count < Self.kept, let at = first.at, let duration = first.duration else {
            return createdAt
        }
        return at.adding(.zero - duration)
    }

    /// So many failures are kept (`errand.with_error`).
    private static let kept = 25

    /// What is known of its life, in order.
    package var story: [StoryEntry] {
        var story = [StoryEntry(event: .made, at: createdAt, text: maker)]
        let failures = failures
        if failures.count >= Self.kept { story.append(StoryEntry(event: .forgotten)) }
        for failure in failures {
            story.append(
                StoryEntry(
                    event: .failed, at: failure.at, attempt: failure.attempt,
                    worker: failure.worker, duration: failure.duration, text: failure.error))
        }
        let length = durationMs.map { Duration.microseconds(Int64($0 * 1000)) }
        // The last attempt is told by its failure, if it failed.
        let hasFailed = failures.last.map { $0.attempt == attempt } ?? false
        if hasFailed, finishedAt != nil, story[story.count - 1].duration == nil {
            story[story.count - 1].duration = length
        }
        if let startedAt, !(hasFailed && finishedAt != nil) {
            story.append(
                StoryEntry(event: .started, at: startedAt, attempt: attempt, worker: worker))
        }
        switch state {
        case .completed:
            story.append(
                StoryEntry(
                    event: .completed, at: finishedAt, attempt: attempt, worker: worker,
                    duration: length))
        case .cancelled:
            story.append(
                StoryEntry(
                    event: .cancelled, at: finishedAt, duration: hasFailed ? nil : length,
                    text: reason))
        case .dead: story.append(StoryEntry(event: .dead, at: finishedAt, text: reason))
        case .scheduled, .available, .retrying:
            story.append(StoryEntry(event: .due, at: runAt))
        case .running: break
        }
        return story
    }

    /// Where it came from.
    private var maker: String {
        if let occurrence {
            let merged = occurrence.missed.count
            return "by schedule \(occurrence.schedule), for \(Instant(date: occurrence.due))"
                + (merged > 0 ? " and \(merged) missed before" : "")
        }
        if let parent = origin?.parent { return "by job \(parent)" }
        if let name = origin?.operatorName { return "by \(name), with errand enqueue" }
        return "by a program, in SQL or Swift"
    }
}
