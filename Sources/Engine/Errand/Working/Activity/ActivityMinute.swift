/// Counts of the jobs of one kind in one queue, for a minute or for the life of a process.
package struct ActivityMinute: Sendable {
    /// Jobs that started their first attempt.
    package var started = 0
    package var completed = 0
    /// Failed attempts whose jobs are retried.
    package var retried = 0
    package var dead = 0
    package var cancelled = 0
    package var snoozed = 0
    /// The waits of jobs, from due to started.
    package var waits = DurationHistogram()
    /// The durations of attempts.
    package var runs = DurationHistogram()
    /// The sums of the waits and of the durations, in milliseconds.
    package var waited = 0.0
    package var ran = 0.0
    /// Whether the table has the current counts.
    var isWritten = false

    /// Counts a result.
    mutating func count(_ verdict: AttemptResult.Verdict) {
        switch verdict {
        case .completed: completed += 1
        case .cancelled: cancelled += 1
        case .dead: dead += 1
        case .waiting(_, let error): if error == nil { snoozed += 1 } else { retried += 1 }
        case .requeued: break
        }
    }

    /// Counts the wait of a job; a negative wait, from clocks that differ, counts as zero.
    mutating func addWait(milliseconds: Double) {
        waits.add(milliseconds: milliseconds)
        waited += max(milliseconds, 0)
    }

    /// Counts the duration of an attempt.
    mutating func addRun(milliseconds: Double) {
        runs.add(milliseconds: milliseconds)
        ran += max(milliseconds, 0)
    }

    /// Adds the counts of another minute.
    mutating func merge(_ other: ActivityMinute) {
        started += other.started
        completed += other.completed
        retried += other.retried
        dead += other.dead
        cancelled += other.cancelled
        snoozed += other.snoozed
        waits.merge(other.waits)
        runs.merge(other.runs)
        waited += other.waited
        ran += other.ran
    }
}

extension ActivityMinute {
    /// Creates the sum of several minutes.
    package init(merging pages: [ActivityMinute]) {
        self.init()
        for page in pages { merge(page) }
    }
}
