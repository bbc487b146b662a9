import ErrandJSONText
import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// The screen of `errand status`.
struct StatusScreen {
    let findings: StatusFindings
    let output: Output

    private var status: EngineStatus { findings.status }

    func show() throws {
        if !output.isForPeople { return try output.show(record) }
        if let queues = status.queues {
            try output.list(
                queues.map { QueueFormatting($0, output.times).record },
                columns: QueueFormatting.status)
            try output.line()
        }
        let troubles = findings.all
        for finding in troubles where finding.check == "queue" { try line(finding) }
        for queue in (status.queues ?? []).filter({ $0.pausedAt != nil }).prefix(3) {
            try line("paused", pause(queue), remedy: "errand queue resume \(queue.name)", .yellow)
        }
        for (name, found) in lines {
            let found = found()
            let own = troubles.filter { $0.check == name }
            // A problem replaces the line, except where the line has more to show.
            if let found, own.isEmpty || name == "workers" || name == "dead" || name == "redis" {
                try line(name, found)
            }
            for finding in own { try line(finding) }
        }
    }

    /// The lines below the queues, each with its text without a problem.
    private var lines: [(name: String, found: () -> String?)] {
        [
            ("leaders", leaders), ("workers", workers), ("schedules", schedules), ("dead", dead),
            ("redis", redis), ("transaction", transaction), ("schema", schema),
        ]
    }

    private func line(_ finding: Finding) throws {
        try line(
            finding.check, finding.message, remedy: finding.remedy,
            finding.severity == .critical ? .red : .yellow)
    }

    /// Prints one line: on a narrow terminal it truncates the message, never the remedy.
    private func line(
        _ name: String, _ found: String, remedy: String? = nil, _ style: Style? = nil
    ) throws {
        let start = DisplayWidth.padded(name, to: 12)
        var found = DisplayWidth.harmless(found)
        let end = remedy.map { "  → " + $0 } ?? ""
        let room = output.screen.outputIsTerminal ? output.screen.width : Int.max
        let rest = room - DisplayWidth.of(start) - DisplayWidth.of(end)
        found = DisplayWidth.truncated(found, to: max(rest, 20))
        try output.line(start + (style.map { output.paint(found, $0) } ?? found) + end)
    }

    private func pause(_ queue: QueueRecord) -> String {
        let since = queue.pausedAt.map { HumanFormat.age(of: $0.date, now: findings.now.date) }
        return "\(queue.name) by \(queue.pausedBy ?? "unknown")" + (since.map { " \($0)" } ?? "")
            + (queue.pausedUntil.map { ", until \(output.times.text($0.date))" } ?? "")
            + (queue.pauseReason.map { ": \($0)" } ?? "")
    }

    private func leaders() -> String? {
        guard let leaders = status.leaders else { return nil }
        if leaders.isEmpty { return "none" }
        return leaders.map { leader in
            "\(leader.role.rawValue): \(Self.name(leader))"
        }.joined(separator: ", ")
    }

    private static func name(_ leader: LeaderRecord) -> String {
        guard let worker = leader.worker else { return "another process" }
        return "worker \(worker)" + (leader.host.map { " (\($0))" } ?? "")
    }

    private func workers() -> String? {
        guard let workers = status.workers else { return nil }
        let stopping = workers.stopping > 0 ? ", \(workers.stopping) of them stopping" : ""
        let advice = workers.alive == 0 ? ": start one with 'errand work'" : ""
        return "\(workers.alive) alive\(stopping), \(workers.unresponsive) unresponsive\(advice)"
    }

    private func schedules() -> String? {
        guard let health = status.schedules else { return nil }
        return health.count == 0
            ? "no schedules"
            : "0 of \(HumanFormat.count(health.count)) schedules are overdue"
                + (health.hasScheduler ? "" : "; no scheduler is running")
    }

    private func dead() -> String? {
        guard let queues = status.queues, let lastHour = status.deadLastHour else { return nil }
        let total = queues.reduce(0) { $0 + $1.dead }
        let isEstimate = queues.contains(where: \.isDeadEstimate)
        return (isEstimate ? HumanFormat.estimate(total) : HumanFormat.count(total))
            + " dead letters, \(lastHour >= EngineStatus.deadLimit ? "at least " : "")"
            + "\(HumanFormat.count(lastHour)) in the last hour"
    }

    private func redis() -> String? {
        guard case .reachable(let info) = findings.redis else { return nil }
        let limit = info.limitBytes > 0 ? " of \(HumanFormat.bytes(info.limitBytes))" : ""
        return "\(info.version), \(HumanFormat.bytes(info.usedBytes))\(limit) used, \(info.policy)"
    }

    private func transaction() -> String? {
        guard let oldest = status.oldestTransaction else { return "none open" }
        return "the oldest has been open for \(HumanFormat.duration(oldest.age))"
    }

    private func schema() -> String? {
        StatusFindings.pending(status, findings.modules) == 0 ? "up to date" : nil
    }

    // MARK: JSON

    /// The names are stable: programs read them.
    private var record: Record {
        let queues = status.queues
        var record = Record([
            ("at", findings.now.cell),
            ("workers", .optional(status.workers) { .int($0.alive) }),
            ("stopping_workers", .optional(status.workers) { .int($0.stopping) }),
            ("unresponsive_workers", .optional(status.workers) { .int($0.unresponsive) }),
            ("dead", .optional(queues) { .int($0.reduce(0) { $0 + $1.dead }) }),
            ("dead_estimated", .flag(queues?.contains(where: \.isDeadEstimate) ?? false)),
            ("dead_last_hour", .optional(status.deadLastHour) { .int($0) }),
            ("schedules", .optional(status.schedules) { .int($0.count) }),
            ("overdue_schedules", .optional(status.schedules) { .int($0.overdue) }),
            ("longest_overdue", .optional(status.schedules?.longestOverdue) { .text($0) }),
            ("oldest_transaction", .optional(status.oldestTransaction) { .duration($0.age) }),
            ("oldest_transaction_pid", .optional(status.oldestTransaction) { .id($0.pid) }),
            (
                "pending_migrations",
                .optional(StatusFindings.pending(status, findings.modules)) { .int($0) }
            ),
        ])
        record.append("redis", .json(redisRecord.json.serialized))
        record.append("leaders", .records((status.leaders ?? []).map(Self.record)))
        record.append(
            "queues", .records((queues ?? []).map { QueueCommands.record($0, output.times) }))
        record.append("problems", .records(findings.all.worstFirst.map(\.record)))
        return record
    }

    private var redisRecord: Record {
        switch findings.redis {
        case .unreachable(let why):
            Record([("reachable", .flag(false)), ("error", .text(why))])
        case .reachable(let info):
            Record([
                ("reachable", .flag(true)), ("version", .text(info.version)),
                ("used_bytes", .bytes(info.usedBytes)),
                ("limit_bytes", info.limitBytes > 0 ? .bytes(info.limitBytes) : .missing),
                ("policy", .text(info.policy)),
            ])
        }
    }

    private static func record(_ leader: LeaderRecord) -> Record {
        Record([
            ("role", .text(leader.role.rawValue)),
            ("worker", .optional(leader.worker) { .id(Int($0)) }),
            ("host", .optional(leader.host) { .text($0) }),
            ("pid", .optional(leader.pid) { .id($0) }),
            ("taken_at", .optional(leader.takenAt) { $0.cell }),
        ])
    }
}
