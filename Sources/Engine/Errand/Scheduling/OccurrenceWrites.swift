import FoundationEssentials
import ErrandPostgres

/// The writes of one transaction of the scheduler, collected over many schedules, so that ten
/// thousand take a few statements.
struct OccurrenceWrites: Sendable {
    /// The outcomes of occurrences that may run after all, as in a backfill.
    enum Retaken: String { case held, skipped }

    private struct Job: Sendable {
        var schedule: StoredSchedule
        var due: Instant
        var origin: String
        var runAt: Instant?
        var options: [UInt8]
    }

    private struct Note: Sendable {
        var schedule: Int64
        var due: Instant
        var origin = "schedule"
        var outcome = "skipped"
        var reason: String?
        var mergedInto: Instant?
    }

    private var jobs: [Job] = []
    private var notes: [Note] = []
    private var unheld: [(schedule: Int64, skip: Decision.Skip)] = []
    private var misses: [(schedule: Int64, miss: Decision.Miss)] = []
    private var moves: [(schedule: Int64, next: Plan.Due?, lastDue: Instant?)] = []
    private var cancels: [Statement] = []

    /// The number of jobs to create.
    var jobCount: Int { jobs.count }

    /// Adds the job of one occurrence.
    ///
    /// - Parameter runAt: the start of the job; nil for now.
    mutating func add(
        _ schedule: StoredSchedule, due: Instant, merged: [Instant] = [], origin: String,
        runAt: Instant?
    ) throws {
        let occurrence = ScheduledOccurrence(schedule: schedule.name, due: due, missed: merged)
        let options = try JSONEncoder().encode(JobOverrides(occurrence: occurrence))
        jobs.append(
            Job(
                schedule: schedule, due: due, origin: origin, runAt: runAt,
                options: [UInt8](options)))
        note(merged, mergedInto: due, of: schedule)
    }

    private mutating func note(
        _ merged: [Instant], mergedInto due: Instant, of schedule: StoredSchedule
    ) {
        notes += merged.map {
            Note(
                schedule: schedule.id, due: $0, origin: "catch-up", reason: "merged",
                mergedInto: due)
        }
    }

    /// Adds the decision on one schedule.
    ///
    /// - Parameter cancelling: the jobs to cancel that no other transaction has locked.
    mutating func add(
        _ decision: Decision, for schedule: StoredSchedule, cancelling: [Int64], isRealTime: Bool
    ) throws {
        for run in decision.runs {
            try add(
                schedule, due: run.due.due, merged: run.merged,
                origin: run.isLate ? "catch-up" : "schedule",
                runAt: isRealTime ? run.due.at : nil)
        }
        notes += decision.skips.map {
            Note(schedule: schedule.id, due: $0.due, reason: $0.reason)
        }
        if let held = decision.held {
            notes.append(
                Note(
                    schedule: schedule.id, due: held.due.due,
                    origin: held.isLate ? "catch-up" : "schedule", outcome: "held",
                    reason: "waits for the previous run"))
            note(held.merged, mergedInto: held.due.due, of: schedule)
        }
        if let skip = decision.unheld { unheld.append((schedule.id, skip)) }
        misses += decision.misses.map { (schedule.id, $0) }
        if !cancelling.isEmpty {
            let ids = Parameter.int64Array(cancelling)
            let reason = "schedule \(schedule.name): replaced by a later run"
            cancels.append(Statement(Statements.cancelWaiting, [ids, .text(reason)]))
            if decision.cancelsRunning {
                cancels.append(Statement(Statements.cancelRunning, [ids]))
            }
        }
        moves.append((schedule.id, decision.next, decision.lastDue))
    }

    /// Returns the statements.
    ///
    /// The result of the first has a row for each created job.
    func statements(
        retaking retaken: [Retaken] = [], plannedWith version: String = ""
    ) -> [Statement] {
        var list = [
            Statement(
                Statements.runOccurrences,
                [
                    .int64Array(jobs.map(\.schedule.id)), .timestampArray(jobs.map(\.due)),
                    .textArray(jobs.map(\.origin)), .timestampArray(jobs.map(\.runAt)),
                    .textArray(jobs.map(\.schedule.queue)), .textArray(jobs.map(\.schedule.kind)),
                    .int16Array(jobs.map(\.schedule.argsVersion)),
                    .int16Array(jobs.map(\.schedule.priority)),
                    .int16Array(jobs.map(\.schedule.maxAttempts)),
                    .jsonArray(jobs.map(\.schedule.args)), .jsonArray(jobs.map(\.options)),
                    .textArray(retaken.map(\.rawValue)),
                ])
        ]
        list += cancels
        if !unheld.isEmpty {
            list.append(
                Statement(
                    Statements.releaseHeld,
                    [
                        .int64Array(unheld.map(\.schedule)),
                        .timestampArray(unheld.map(\.skip.due)),
                        .textArray(unheld.map(\.skip.reason)),
                    ]))
        }
        if !notes.isEmpty { list.append(noted) }
        if !misses.isEmpty {
            list.append(
                Statement(
                    Statements.noteMisses,
                    [
                        .int64Array(misses.map(\.schedule)),
                        .timestampArray(misses.map(\.miss.first)),
                        .timestampArray(misses.map(\.miss.last)),
                        .int32Array(misses.map { Int32($0.miss.count ?? 0) }),
                        .textArray(misses.map(\.miss.reason)),
                    ]))
        }
        if !moves.isEmpty {
            list.append(
                Statement(
                    Statements.advanceSchedules,
                    [
                        .int64Array(moves.map(\.schedule)),
                        .timestampArray(moves.map(\.next?.due)),
                        .timestampArray(moves.map(\.next?.at)),
                        .timestampArray(moves.map(\.lastDue)), .text(version),
                    ]))
        }
        return list
    }

    private var noted: Statement {
        Statement(
            Statements.noteOccurrences,
            [
                .int64Array(notes.map(\.schedule)), .timestampArray(notes.map(\.due)),
                .textArray(notes.map(\.origin)), .textArray(notes.map(\.outcome)),
                .nullableTextArray(notes.map(\.reason)),
                .timestampArray(notes.map(\.mergedInto)),
            ])
    }
}
