import JobQueue
import Postgres
import Terminal

/// `errand status`.
enum StatusCommand {
    static let all = [command]

    private static let command = Command(
        "status", effect: .looks, summary: "Show queues and workers on one screen",
        examples: [.init("errand status --watch 5", "kept up to date")]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let queues = try await inspector.queues()
        let workers = try await inspector.workers()
        let alive = workers.filter(\.isAlive)
        let times = invocation.output.times
        let records = queues.map { QueueCommands.record($0, times) }
        if !invocation.output.isForPeople {
            var record = Record([
                ("workers", .int(alive.count)),
                ("silent_workers", .int(workers.count - alive.count)),
                ("dead", .int(queues.reduce(0) { $0 + $1.dead })),
            ])
            record.append("queues", .records(records))
            try invocation.output.show(record)
            return .done
        }
        try invocation.output.line(
            "\(alive.count) workers alive, \(workers.count - alive.count) silent")
        try invocation.output.line()
        try invocation.output.list(
            records, columns: QueueCommands.listed)
        if alive.isEmpty {
            try invocation.output.line()
            try invocation.output.line("no worker is running: start one with 'errand work'")
        }
        return .done
    }
}
