/// What became of the jobs of one kind in one queue, over a minute or over a process's life.
package struct ActivityPage: Sendable {
    /// Jobs that were begun for the first time.
    package var started = 0
    package var completed = 0
    /// Attempts that failed and leave another one.
    package var retried = 0
    package var dead = 0
    package var cancelled = 0
    package var snoozed = 0
    /// From when a job was due to its start.
    package var waits = DurationHistogram()
    /// From the start of an attempt to its end.
    package var runs = DurationHistogram()
    /// The same added up, in milliseconds.
    package var waited = 0.0
    package var ran = 0.0
    /// Whether the table has it as it is.
    var isWritten = false

    /// Counts an ending.
    mutating func count(_ verdict: Ending.Verdict) {
        switch verdict {
        case .completed: completed += 1
        case .cancelled: cancelled += 1
        case .dead: dead += 1
        case .waiting(_, let error): if error == nil { snoozed += 1 } else { retried += 1 }
        case .handedBack: break
        }
    }

    /// Counts how long a job waited; none where clocks differ.
    mutating func addWait(milliseconds: Double) {
        waits.add(milliseconds: milliseconds)
        waited += max(milliseconds, 0)
    }

    /// Counts how long an attempt ran.
    mutating func addRun(milliseconds: Double) {
        runs.add(milliseconds: milliseconds)
        ran += max(milliseconds, 0)
    }

    /// Adds what another one has.
    mutating func merge(_ other: ActivityPage) {
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

extension ActivityPage {
    /// All of them together.
    package init(merging pages: [ActivityPage]) {
        self.init()
        for page in pages { merge(page) }
    }
}
