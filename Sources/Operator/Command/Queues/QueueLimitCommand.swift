import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand queue limit`.
enum QueueLimitCommand {
    static let all = [limit]

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")
    private static let running = Option<Int?>.integer(
        "running", range: 1...1_000_000, help: "Run at most N jobs at once, over all workers")
    private static let rate = Option<Rate?>.value(
        "rate", Rate.format,
        help: "Start jobs at most at this rate, such as 100/s or 50/m, over all workers")
    private static let none = Option<Bool>.flag("none", help: "Remove the queue's limits")

    /// How long to wait until all workers apply a limit.
    private static let timeout = Duration.seconds(5)

    private static let limit = Command(
        "queue", "limit", effect: .write,
        summary: "Limit the concurrency or the start rate of a queue",
        discussion: """
            The limits apply to all workers together. A limit that is not given is unchanged. \
            Running jobs continue and count; jobs above the limit wait in their order. Starts are \
            spread evenly: at most a tenth of a second's worth at once.
            """,
        examples: [
            .init("errand queue limit mail --running 50 --rate 100/s", "protect a mail server"),
            .init("errand queue limit mail --none", "remove the limits"),
        ],
        options: [running, rate, none, AuditOptions.reason], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let (name, running, rate) = (invocation[name], invocation[running], invocation[rate])
        guard invocation[none] != (running != nil || rate != nil) else {
            throw CommandFailure(
                exit: .usage, message: "pass --running, --rate or both, or only --none",
                hint: "'errand queue show \(name)' shows the current limit")
        }
        try await QueueCommands.check(name, inspector)
        if invocation[none] {
            _ = try await inspector.removeLimit(
                of: name, by: invocation.operatorName, reason: invocation[AuditOptions.reason])
        } else {
            let at = try await inspector.limit(
                name, running: running, rate: rate.map { ($0.perSecond, $0.text) },
                by: invocation.operatorName, reason: invocation[AuditOptions.reason])
            guard let at else {
                throw QueueCommands.unknown(name, try await inspector.queueNames())
            }
            try await settle(name, at, inspector, invocation.output)
        }
        let limit = try await inspector.limits(of: name)[name]
        try invocation.output.show(add(limit, to: Record([("queue", .text(name))])))
        return .done
    }

    /// Waits until all workers apply the limit, then counts the jobs they had claimed before.
    private static func settle(
        _ queue: String, _ at: Instant, _ inspector: Inspector, _ output: Output
    ) async throws {
        let end = ContinuousClock.now + timeout
        var unaware = try await inspector.unaware(of: queue, setAt: at)
        while !unaware.isEmpty, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
            unaware = try await inspector.unaware(of: queue, setAt: at)
        }
        try await inspector.countClaimed(of: queue)
        guard !unaware.isEmpty else { return }
        output.warn(
            "some workers have not applied the limit yet: "
                + unaware.map(String.init).joined(separator: ", ")
                + "; run the command again later, so that their running jobs are counted")
    }

    /// Appends a queue's limit to its record.
    static func add(_ limit: QueueLimit?, to record: Record) -> Record {
        var record = record
        let words = limit.map { limit in
            let running = limit.running.map {
                "\(HumanFormat.count(limit.held)) of \(HumanFormat.count($0))"
            }
            return [running, limit.rate].compactMap(\.self).joined(separator: ", ")
        }
        record.append("limit", .optional(words) { .text($0) })
        record.append("limit_running", .optional(limit?.running) { .int($0) })
        record.append("limit_rate", .optional(limit?.rate) { .text($0) })
        record.append("limit_in_use", .optional(limit?.held) { .int($0) })
        record.append("limit_set_by", .optional(limit?.setBy) { .text($0) })
        record.append("limit_set_at", .optional(limit?.setAt) { $0.cell })
        record.append("limit_reason", .optional(limit?.reason) { .text($0) })
        return record
    }
}
