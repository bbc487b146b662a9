import FoundationEssentials
import Errand
import ErrandPostgres
import Synchronization
import ErrandTerminal
import ErrandThreads

/// `errand schedule backfill`.
enum ScheduleBackfillCommand {
    static let all = [command]

    /// What one backfill makes at most.
    private static let most = 100_000

    private static let from = Option<Instant?>.value(
        "from", JobWords.time, help: "The first moment of the past, itself included"
    ).required()
    private static let to = Option<Instant?>.value(
        "to", JobWords.time, help: "Its end, itself not included"
    ).required()
    private static let dryRun = Option.flag("dry-run", help: "Only say what would be made")
    private static let command = Command(
        "schedule", "backfill", effect: .changes,
        summary: "Make the jobs of past times that had none",
        discussion: """
            First says how many there are, then asks. Times that have or had their job get no \
            other, so it can be run again after an interruption. The jobs start at once and \
            together, whatever the overlap policy; each knows the time that it is for.
            """,
        examples: [
            .init(
                "errand schedule backfill shop.report --from 2026-11-01T00:00:00Z "
                    + "--to 2026-11-02T00:00:00Z --dry-run",
                "what is missing of that day")
        ],
        options: [from, to, dryRun, AuditOptions.reason], arguments: [ScheduleWords.name]
    ) { invocation in
        let (name, start, end) = (
            invocation[ScheduleWords.name], invocation[from], invocation[to]
        )
        guard start < end else {
            throw CommandFailure(
                exit: .usage, message: "--to \(end) does not come after --from \(start)",
                hint: "--from is included, --to is not")
        }
        let schedules = try invocation.schedules()
        let now = try await schedules.now()
        guard end <= now else {
            throw CommandFailure(
                exit: .refused, message: "--to \(end) lies in the future",
                hint: "it is \(now); what is still to come, the scheduler makes in its time")
        }
        let found = try await schedules.backfill(name, from: start, to: end, limit: most)
        guard let backfill = found else { throw try await ScheduleWords.unknown(name, schedules) }
        guard !backfill.isCut else {
            throw CommandFailure(
                exit: .refused,
                message: "more than \(HumanFormat.count(most)) occurrences had no job",
                hint: "backfill shorter times, one after the other: the first "
                    + "\(HumanFormat.count(most)) end with --to \(after(backfill))")
        }
        return try await go(backfill, schedules, invocation)
    }

    /// The shortest end that takes in all that was found.
    private static func after(_ backfill: Schedules.Backfill) -> Instant {
        (backfill.missing.last ?? .now()).adding(.seconds(1))
    }

    private static func go(
        _ backfill: Schedules.Backfill, _ schedules: Schedules, _ invocation: Invocation
    ) async throws -> ExitCode {
        let output = invocation.output
        let isDry = invocation[dryRun]
        let count = backfill.missing.count
        if output.isForPeople || isDry { try output.show(preview(backfill)) }
        if isDry { return .done }
        let name = backfill.schedule.name
        guard count > 0 else {
            if !output.isForPeople { try output.show(result(backfill, made: 0)) }
            output.note("nothing to do: every one has or had its job")
            return .done
        }
        try output.flush()
        try output.confirm(
            "make \(HumanFormat.count(count)) jobs of \(name) now?",
            yes: invocation[GlobalOptions.yes])
        let made = try await make(
            backfill, schedules, output, by: invocation.operatorName,
            reason: invocation[AuditOptions.reason])
        if !output.isForPeople {
            try output.show(result(backfill, made: made))
        } else {
            try output.line("\(HumanFormat.count(made)) jobs made")
        }
        if made < count {
            output.note("the others were dealt with meanwhile, and got no second job")
        }
        return .done
    }

    /// Makes the jobs; a signal ends it after the batch that is under way.
    private static func make(
        _ backfill: Schedules.Backfill, _ schedules: Schedules, _ output: Output,
        by operatorName: String, reason: String?
    ) async throws -> Int {
        let count = backfill.missing.count
        let bar = ProgressBar("made", total: count, output: output, now: .now)
        let tally = Tally()
        let work = Task {
            try await schedules.run(backfill, by: operatorName, reason: reason) { done in
                tally.set(done)
                bar.update(done: done, now: .now)
            }
        }
        Termination.onRequest {
            tally.interrupt()
            work.cancel()
        }
        var trouble: CommandFailure?
        do { _ = try await work.value } catch {
            trouble = describe(error) ?? CommandFailure(exit: .failed, message: "\(error)")
        }
        let (made, isInterrupted) = tally.state
        bar.finish(done: made, now: .now)
        guard isInterrupted || trouble != nil else { return made }
        // Broken off before anything was made, it is an error like any other.
        if let trouble, made == 0, !isInterrupted { throw trouble }
        let cause = isInterrupted ? "interrupted" : trouble?.message ?? "broken off"
        throw CommandFailure(
            exit: .partlyDone,
            message: "\(cause): \(HumanFormat.count(made)) of \(HumanFormat.count(count)) jobs "
                + "were made",
            hint: "run the same again: no occurrence gets a second job")
    }

    /// How far the work has come, for those who watch it.
    private final class Tally: Sendable {
        private let counts = Mutex((made: 0, isInterrupted: false))

        var state: (made: Int, isInterrupted: Bool) { counts.withLock { $0 } }

        func set(_ made: Int) { counts.withLock { $0.made = made } }
        func interrupt() { counts.withLock { $0.isInterrupted = true } }
    }

    private static func preview(_ backfill: Schedules.Backfill) -> Record {
        Record([
            ("schedule", .text(backfill.schedule.name)),
            ("missing", .int(backfill.missing.count)),
            ("first", .optional(backfill.missing.first) { $0.cell }),
            ("last", .optional(backfill.missing.last) { $0.cell }),
            ("already_run", .int(backfill.taken)),
        ])
    }

    private static func result(_ backfill: Schedules.Backfill, made: Int) -> Record {
        var record = preview(backfill)
        record.append("made", .int(made))
        return record
    }
}
