import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand queue limit`.
enum QueueLimitCommand {
    static let all = [limit]

    private static let name = Argument.required(ValueFormat.text("NAME"), help: "The queue's name")
    private static let running = Option<Int?>.integer(
        "running", range: 1...1_000_000, help: "Run at most so many at once, over all workers")
    private static let rate = Option<Rate?>.value(
        "rate", Rate.format,
        help: "Start at most so many in a time, such as 100/s or 50/m, over all workers")
    private static let none = Option<Bool>.flag("none", help: "Take the queue's limits away")

    /// How long the workers have to hear of a limit.
    private static let patience = Duration.seconds(5)

    private static let limit = Command(
        "queue", "limit", effect: .changes,
        summary: "Say how much of a queue may run at once, or start in a time",
        discussion: """
            It holds over all workers. What is not given stays as it was. Jobs that run already \
            go on and are counted; jobs that may not start wait in their order. Starts are spread \
            evenly: at most a tenth of a second's worth at once.
            """,
        examples: [
            .init("errand queue limit mail --running 50 --rate 100/s", "what the server takes"),
            .init("errand queue limit mail --none", "as many as there are slots"),
        ],
        options: [running, rate, none, AuditOptions.reason], arguments: [name]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let (name, running, rate) = (invocation[name], invocation[running], invocation[rate])
        guard invocation[none] != (running != nil || rate != nil) else {
            throw CommandFailure(
                exit: .usage, message: "say --running, --rate or both, or else --none",
                hint: "'errand queue show \(name)' shows the limit that it has")
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

    /// Waits until all workers keep the limit, and counts what they had claimed before.
    private static func settle(
        _ queue: String, _ at: Instant, _ inspector: Inspector, _ output: Output
    ) async throws {
        let end = ContinuousClock.now + patience
        var unaware = try await inspector.unaware(of: queue, setAt: at)
        while !unaware.isEmpty, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
            unaware = try await inspector.unaware(of: queue, setAt: at)
        }
        try await inspector.countClaimed(of: queue)
        guard !unaware.isEmpty else { return }
        output.warn(
            "not all workers have heard of it yet: "
                + unaware.map(String.init).joined(separator: ", ")
                + "; run it again when they have, so that what they run is counted")
    }

    /// A queue's record with its limit.
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
        record.append("limit_held", .optional(limit?.held) { .int($0) })
        record.append("limit_set_by", .optional(limit?.setBy) { .text($0) })
        record.append("limit_set_at", .optional(limit?.setAt) { $0.cell })
        record.append("limit_reason", .optional(limit?.reason) { .text($0) })
        return record
    }
}
