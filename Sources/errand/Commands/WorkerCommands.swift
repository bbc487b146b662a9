import JobQueue
import Postgres
import Terminal

/// `errand worker ls`.
enum WorkerCommands {
    static let all = [list]

    private static let list = Command(
        "worker", "ls", summary: "List the worker processes"
    ) { invocation in
        let workers = try await Inspector(session: try invocation.session()).workers()
        let now = Instant.now().date
        try invocation.output.list(
            workers.map { worker in
                let state = worker.isAlive ? (worker.isStopping ? "stopping" : "alive") : "silent"
                return Record([
                    ("id", .id(Int(worker.id))), ("host", .text(worker.host)),
                    ("pid", .id(worker.pid)),
                    ("state", .marked(state, worker.isAlive ? .green : .red)),
                    ("started_at", worker.startedAt.cell),
                    ("last_seen_at", .age(worker.lastSeenAt.date, now: now)),
                    ("version", .text(worker.version)), ("queues", .json(worker.queues)),
                    ("kinds", .list(worker.kinds)),
                ])
            },
            columns: [
                Column("id"), Column("host"), Column("pid"), Column("state"),
                Column("started_at"), Column("last_seen_at"), Column("queues", isFlexible: true),
            ], empty: "no worker is running: start one with 'errand work'")
        return .done
    }
}
