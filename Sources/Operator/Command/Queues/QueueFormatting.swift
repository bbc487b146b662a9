import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// One queue as a record, with short forms for a table of 80 columns.
struct QueueFormatting {
    private let queue: QueueRecord
    private let times: TimeFormat
    private let now = Instant.now()

    /// Formats a queue, with times in the reader's format.
    init(_ queue: QueueRecord, _ times: TimeFormat) {
        self.queue = queue
        self.times = times
    }

    /// The columns of `errand queue ls`, with short titles to fit 80 columns.
    static let listed = [
        Column("queue", isFlexible: true), Column("available", title: "AVAIL"),
        Column("scheduled", title: "SCHED"), Column("retrying", title: "RETRY"), Column("dead"),
        Column("oldest", alignment: .right), Column("p95_wait", title: "P95", alignment: .right),
        Column("rate_in", title: "IN/S", alignment: .right),
        Column("rate_out", title: "OUT/S", alignment: .right),
        Column("busy", alignment: .right),
        Column("drain_time", title: "DRAIN", alignment: .right),
    ]

    /// The columns of `errand status`, which has more room for titles.
    static let status = [
        Column("queue", isFlexible: true), Column("available", title: "WAITING"),
        Column("oldest", alignment: .right),
        Column("p95_wait", title: "P95 WAIT", alignment: .right),
        Column("rate_in", title: "IN/S", alignment: .right),
        Column("rate_out", title: "OUT/S", alignment: .right),
        Column("busy", alignment: .right),
        Column("drain_time", title: "DRAIN", alignment: .right),
    ]

    /// The names are stable: programs read them.
    var record: Record {
        func count(_ value: Int) -> Cell { queue.isEstimate ? .estimate(value) : .int(value) }
        func wait(_ share: Double) -> Cell {
            .optional(queue.waits.percentile(share)) { .duration($0) }
        }
        return Record([
            ("queue", .text(queue.name)), ("available", count(queue.available)),
            ("running", count(queue.running)), ("retrying", count(queue.retrying)),
            ("scheduled", count(queue.scheduled)), ("estimated", .flag(queue.isEstimate)),
            ("dead", queue.isDeadEstimate ? .estimate(queue.dead) : .int(queue.dead)),
            ("dead_estimated", .flag(queue.isDeadEstimate)),
            (
                "oldest",
                .brief(
                    .optional(queue.oldestWait(at: now)) { .text(Self.short($0)) },
                    of: .optional(queue.oldest) { .age($0.date, now: now.date) })
            ),
            ("p50_wait", wait(0.5)), ("p95_wait", wait(0.95)), ("p99_wait", wait(0.99)),
            ("rate_in", .optional(queue.rateIn, rateIn)),
            ("rate_in_estimated", .flag(queue.isRateInEstimate)),
            ("rate_out", Self.rate(queue.rateOut)),
            ("workers", .int(queue.workers)), ("slots", .int(queue.slots)),
            ("busy", .brief(slotsBusy, of: .int(queue.busy))),
            ("free", .int(max(queue.slots - queue.busy, 0))),
            ("drain_time", .brief(rest, of: .optional(queue.drainTime) { .duration($0) })),
            ("paused", .optional(pause) { .marked($0, .yellow) }),
            ("paused_at", .optional(queue.pausedAt) { $0.cell }),
            ("paused_by", .optional(queue.pausedBy) { .text($0) }),
            ("pause_reason", .optional(queue.pauseReason) { .text($0) }),
            ("paused_until", .optional(queue.pausedUntil) { $0.cell }),
        ])
    }

    private var slotsBusy: Cell {
        queue.workers == 0 ? .missing : .text("\(queue.busy)/\(queue.slots)")
    }

    private func rateIn(_ value: Double) -> Cell {
        Self.rate(value, mark: queue.isRateInEstimate ? "~" : "")
    }

    private var rest: Cell {
        if queue.pausedAt != nil { return .marked("paused", .yellow) }
        guard let time = queue.drainTime else {
            return queue.available > 0 && (queue.rateIn ?? 0) > queue.rateOut
                ? .marked("never", .yellow) : .missing
        }
        return time == .zero ? .missing : .text(Self.short(time))
    }

    private var pause: String? {
        queue.pausedAt.map { at in
            "by \(queue.pausedBy ?? "unknown") at \(times.text(at.date))"
                + (queue.pausedUntil.map { " until \(times.text($0.date))" } ?? "")
                + (queue.pauseReason.map { ": \($0)" } ?? "")
        }
    }

    /// A duration in its largest unit: `12 s`, `4 m`, `3 d`.
    static func short(_ length: Duration) -> String {
        let seconds = length / .seconds(1)
        return switch seconds {
        case ..<59.5: "\(Int(seconds.rounded())) s"
        case ..<3_600: "\(max(Int(seconds / 60), 1)) m"
        case ..<86_400: "\(Int(seconds / 3_600)) h"
        default: "\(HumanFormat.count(Int(min(seconds, 1e14) / 86_400))) d"
        }
    }

    private static func rate(_ value: Double, mark: String = "") -> Cell {
        let text = HumanFormat.number(value, decimals: value > 0 && value < 9.95 ? 1 : 0)
        return .brief(.text(mark + text), of: .number(value, decimals: 1))
    }
}
