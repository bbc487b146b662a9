import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand schedule history`.
enum ScheduleHistoryCommand {
    static let all = [command]

    private static let cursor = Option<Instant?>.value(
        "cursor", JobInputOptions.time,
        help: "Continue after this time, the last one of the previous page")

    private static let command = Command(
        "schedule", "history", effect: .read,
        summary: "Show the past occurrences of a schedule, the latest first",
        discussion: """
            Consecutive missed occurrences are one entry, with their count. REASON shows why there \
            was no job, or how the job ended.
            """,
        examples: [.init("errand schedule history shop.report --limit 10", "the latest ten")],
        options: [PageOptions.limit, cursor], arguments: [ScheduleFormatting.name]
    ) { invocation in
        let schedules = try invocation.schedules()
        let schedule = try await schedules.one(invocation[ScheduleFormatting.name]).schedule
        let entries = try await schedules.history(
            of: schedule, before: invocation[cursor] ?? .infinity,
            limit: invocation[PageOptions.limit])
        let output = invocation.output
        try output.list(
            entries.map { record($0, output.times) },
            columns: columns(output), empty: "\(schedule.name) has had no occurrence yet")
        if entries.count == invocation[PageOptions.limit], let last = entries.last {
            output.note("more: " + invocation.line(behind: cursor, "\(last.lastDue)"))
        }
        return .done
    }

    /// The columns; on a narrow terminal without those that others imply.
    private static func columns(_ output: Output) -> [Column] {
        let isNarrow = output.screen.outputIsTerminal && output.screen.width < 120
        let all = [
            Column("due_at", title: "DUE"), Column("decided_at"), Column("late"), Column("job"),
            Column("origin"), Column("outcome"), Column("ended_at"),
            Column("reason", isFlexible: true),
        ]
        return isNarrow ? all.filter { !["decided_at", "ended_at"].contains($0.name) } : all
    }

    /// How late the scheduler processed an occurrence; nil if that is not meaningful.
    private static func lateness(_ entry: Schedules.HistoryEntry) -> Duration? {
        guard ["schedule", "catch-up"].contains(entry.origin), entry.outcome != "missed" else {
            return nil
        }
        // The scheduler may process it early: the job starts on time.
        return max(entry.decidedAt.durationSince(entry.firstDue), .zero)
    }

    private static func record(
        _ entry: Schedules.HistoryEntry, _ times: TimeFormat
    ) -> Record {
        Record([
            ("due_at", entry.firstDue.cell), ("last_due", entry.lastDue.cell),
            ("count", .optional(entry.count) { .int($0) }), ("decided_at", entry.decidedAt.cell),
            ("late", .optional(lateness(entry)) { .duration($0) }),
            ("job", .optional(entry.job) { .id(Int($0)) }), ("origin", .text(entry.origin)),
            ("outcome", ScheduleRecords.outcome(entry.outcome)),
            ("merged_into", .optional(entry.mergedInto) { $0.cell }),
            ("ended_at", .optional(entry.endedAt) { $0.cell }),
            (
                "reason",
                .brief(.text(reason(entry, times)), of: .optional(entry.reason) { .text($0) })
            ),
        ])
    }

    /// The reason, with the span of missed occurrences and the occurrence it was merged into.
    private static func reason(_ entry: Schedules.HistoryEntry, _ times: TimeFormat) -> String {
        var reason = entry.reason ?? ""
        if let into = entry.mergedInto { reason += " into that of \(into)" }
        if entry.outcome == "missed", entry.count != 1 {
            let count = entry.count.map(HumanFormat.count) ?? "many"
            reason = "\(count) up to \(times.text(entry.lastDue.date)): \(reason)"
        }
        return reason
    }
}
