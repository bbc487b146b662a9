import JobQueue
import Postgres
import Terminal

/// One queue as a record: in full, and with what only a table of 80 columns shows.
struct QueueWords {
    private let queue: QueueRecord
    private let times: TimeFormat
    private let isTable: Bool
    private let now = Instant.now()

    /// In full, or also with the fields that a table shows.
    init(_ queue: QueueRecord, _ times: TimeFormat, isTable: Bool = false) {
        self.queue = queue
        self.times = times
        self.isTable = isTable
    }

    /// With short titles, so that it fits 80 columns.
    static let listed = [
        Column("queue", isFlexible: true), Column("available", title: "AVAIL"),
        Column("scheduled", title: "SCHED"), Column("retrying", title: "RETRY"), Column("dead"),
        Column("since", title: "OLDEST", alignment: .right), Column("p95", alignment: .right),
        Column("in", title: "IN/S", alignment: .right),
        Column("out", title: "OUT/S", alignment: .right),
        Column("slots_busy", title: "BUSY", alignment: .right),
        Column("rest", title: "DRAIN", alignment: .right),
    ]

    /// For `errand status`, where names have more room.
    static let status = [
        Column("queue", isFlexible: true), Column("available", title: "WAITING"),
        Column("since", title: "OLDEST", alignment: .right),
        Column("p95", title: "P95 WAIT", alignment: .right),
        Column("in", title: "IN/S", alignment: .right),
        Column("out", title: "OUT/S", alignment: .right),
        Column("slots_busy", title: "BUSY", alignment: .right),
        Column("rest", title: "DRAIN", alignment: .right),
    ]

    /// The names are stable: programs read them.
    var record: Record {
        func count(_ value: Int) -> Cell { queue.isEstimate ? .estimate(value) : .int(value) }
        func wait(_ share: Double) -> Cell {
            .optional(queue.waits.percentile(share)) { .duration($0) }
        }
        var record = Record([
            ("queue", .text(queue.name)), ("available", count(queue.available)),
            ("running", count(queue.running)), ("retrying", count(queue.retrying)),
            ("scheduled", count(queue.scheduled)), ("estimated", .flag(queue.isEstimate)),
            ("dead", queue.isDeadEstimate ? .estimate(queue.dead) : .int(queue.dead)),
            ("dead_estimated", .flag(queue.isDeadEstimate)),
            ("oldest", .optional(queue.oldest) { .age($0.date, now: now.date) }),
            ("p50_wait", wait(0.5)), ("p95_wait", wait(0.95)), ("p99_wait", wait(0.99)),
            ("rate_in", .optional(queue.rateIn) { .number($0, decimals: 1) }),
            ("rate_in_estimated", .flag(queue.isRateInEstimate)),
            ("rate_out", .number(queue.rateOut, decimals: 1)),
            ("workers", .int(queue.workers)), ("slots", .int(queue.slots)),
            ("busy", .int(queue.busy)), ("free", .int(max(queue.slots - queue.busy, 0))),
            ("drain_time", .optional(queue.drainTime) { .duration($0) }),
            ("paused", .optional(pause) { .marked($0, .yellow) }),
            ("paused_at", .optional(queue.pausedAt) { $0.cell }),
            ("paused_by", .optional(queue.pausedBy) { .text($0) }),
            ("pause_reason", .optional(queue.pauseReason) { .text($0) }),
            ("paused_until", .optional(queue.pausedUntil) { $0.cell }),
        ])
        guard isTable else { return record }
        record.append("since", .optional(queue.oldestWait(at: now)) { .text(Self.short($0)) })
        record.append(
            "p95", .optional(queue.waits.percentile(0.95)) { .text(HumanFormat.duration($0)) })
        record.append(
            "in",
            .optional(queue.rateIn) {
                .text((queue.isRateInEstimate ? "~" : "") + Self.rate($0))
            })
        record.append("out", .text(Self.rate(queue.rateOut)))
        record.append(
            "slots_busy", queue.workers == 0 ? .missing : .text("\(queue.busy)/\(queue.slots)"))
        record.append("rest", rest)
        return record
    }

    private var rest: Cell {
        if queue.pausedAt != nil { return .marked("paused", .yellow) }
        guard let time = queue.drainTime else {
            return queue.available > 0 && (queue.rateIn ?? 0) > queue.rateOut
                ? .marked("grows", .yellow) : .missing
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

    /// In its largest unit: `12 s`, `4 m`, `3 d`.
    static func short(_ length: Duration) -> String {
        let seconds = length / .seconds(1)
        return switch seconds {
        case ..<59.5: "\(Int(seconds.rounded())) s"
        case ..<3_600: "\(max(Int(seconds / 60), 1)) m"
        case ..<86_400: "\(Int(seconds / 3_600)) h"
        default: "\(HumanFormat.count(Int(min(seconds, 1e14) / 86_400))) d"
        }
    }

    private static func rate(_ value: Double) -> String {
        HumanFormat.number(value, decimals: value > 0 && value < 9.95 ? 1 : 0)
    }
}
