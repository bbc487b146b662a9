import FoundationEssentials
import Errand
import ErrandPostgres
import Synchronization
import ErrandTerminal
import ErrandThreads

/// `errand schedule backfill`.
enum ScheduleBackfillCommand {
    static let all = [command]

    /// The maximum number of jobs of one backfill.
    private static let most = 100_000

    private static let from = Option<Instant?>.value(
        "from", JobInputOptions.time, help: "The start of the time range (inclusive)"
    ).required()
    private static let to = Option<Instant?>.value(
        "to", JobInputOptions.time, help: "The end of the time range (exclusive)"
    ).required()
    private static let dryRun = Option.flag("dry-run", help: "Only show what would be created")
    private static let command = Command(
        "schedule", "backfill", effect: .write,
        summary: "Create the jobs of past occurrences that had none",
        discussion: """
            Shows the number of jobs, then asks for confirmation. An occurrence that has or had a \
            job gets no second one, so after an interruption you can run it again. All jobs are \
            due at once, whatever the overlap policy; each receives the time of its occurrence.
            """,
        examples: [
            .init(
                "errand schedule backfill shop.report --from 2026-11-01T00:00:00Z "
                    + "--to 2026-11-02T00:00:00Z --dry-run",
                "the missing jobs of a day")
        ],
        options: [from, to, dryRun, AuditOptions.reason], arguments: [ScheduleFormatting.name]
    ) { invocation in
        let (name, start, end) = (
            invocation[ScheduleFormatting.name], invocation[from], invocation[to]
        )
        guard start < end else {
            throw CommandFailure(
                exit: .usage, message: "--to \(end) is not after --from \(start)",
                hint: "--from is inclusive, --to is exclusive")
        }
        let schedules = try invocation.schedules()
        let now = try await schedules.now()
        guard end <= now else {
            throw CommandFailure(
                exit: .refused, message: "--to \(end) is in the future",
                hint: "it is now \(now); the scheduler creates the jobs of later occurrences")
        }
        let found = try await schedules.backfill(name, from: start, to: end, limit: most)
        guard let backfill = found else {
            throw try await ScheduleFormatting.unknown(name, schedules)
        }
        guard !backfill.isCut else {
            throw CommandFailure(
                exit: .refused,
                message: "more than \(HumanFormat.count(most)) occurrences had no job",
                hint: "backfill shorter ranges in sequence: --to \(after(backfill)) covers the "
                    + "first \(HumanFormat.count(most))")
        }
        return try await go(backfill, schedules, invocation)
    }

    /// The earliest `--to` that covers all occurrences found.
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
            output.note("nothing to do: every occurrence has or had its job")
            return .done
        }
        try output.flush()
        try output.confirm(
            "create \(HumanFormat.count(count)) jobs of \(name) now?",
            yes: invocation[GlobalOptions.yes])
        let made = try await make(
            backfill, schedules, output, by: invocation.operatorName,
            reason: invocation[AuditOptions.reason])
        if !output.isForPeople {
            try output.show(result(backfill, made: made))
        } else {
            try output.line("\(HumanFormat.count(made)) jobs created")
        }
        if made < count {
            output.note("the other occurrences got their jobs meanwhile")
        }
        return .done
    }

    /// Creates the jobs; on a signal it stops after the current batch.
    private static func make(
        _ backfill: Schedules.Backfill, _ schedules: Schedules, _ output: Output,
        by operatorName: String, reason: String?
    ) async throws -> Int {
        let count = backfill.missing.count
        let bar = ProgressBar("created", total: count, output: output, now: .now)
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
        // A failure before the first batch is an ordinary error.
        if let trouble, made == 0, !isInterrupted { throw trouble }
        let cause = isInterrupted ? "interrupted" : trouble?.message ?? "stopped"
        throw CommandFailure(
            exit: .partlyDone,
            message: "\(cause): \(HumanFormat.count(made)) of \(HumanFormat.count(count)) jobs "
                + "were created",
            hint: "run the same command again: no occurrence gets a second job")
    }

    /// The progress of a backfill.
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
        record.append("created", .int(made))
        return record
    }
}
