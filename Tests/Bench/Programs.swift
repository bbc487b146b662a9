import FoundationEssentials
import Errand
import ErrandPostgres

/// Our own queue behind the three programs that every peer offers too (scripts/bench.d/peers).
enum Programs {
    /// Works queues until `count` jobs have started, for `--seconds`, or until SIGTERM.
    ///
    /// It declares those of the measurements, or `--kinds`: one, or more than those. The
    /// concurrency of a queue may follow its name or pattern: `mail:4`.
    static func work(_ flags: Flags) async throws {
        let stop = Stop.onTermination()
        let diary = Diary(expecting: try flags.int("count", .max), stop: stop)
        let count = try flags.int("kinds", 0)
        var kinds = diary.kinds(onlyProbes: count == 1)
        NumberedKinds.add(to: &kinds, upTo: count)
        let queues = try flags.text("queues", "default").split(separator: ",").map { text in
            let parts = text.split(separator: ":")
            return WorkerOptions.Queue(
                String(parts[0]), concurrency: parts.count > 1 ? Int(parts[1]) ?? 32 : 32)
        }
        var options = WorkerOptions(queues: queues)
        options.runsSchedules = try flags.text("schedules", "on") == "on"
        let worker = Worker(
            servers: try flags.servers(), kinds: kinds, options: options, log: .silent)
        if flags.path("seconds") != nil {
            let seconds = try flags.int("seconds")
            Task {
                try? await Task.sleep(for: .seconds(seconds))
                stop.stop()
            }
        }
        _ = try await worker.run(until: stop)
        if let path = flags.path("record") { try diary.write(to: path) }
        report(diary.fields)
    }

    /// Enqueues `count` jobs in batches, from so many callers at once.
    static func enqueue(_ flags: Flags) async throws {
        let count = try flags.int("count")
        let batch = try flags.int("batch", 1_000)
        let callers = try flags.int("callers", 1)
        let client = try await flags.client(connections: callers)
        let options = EnqueueOptions(queue: try flags.text("queue", "default"))
        // Makes the connections and what is prepared on them.
        _ = try await client.enqueue(Noop(payload: payload), options)
        let share = count / callers
        let start = monotonicNow()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    try await Self.enqueue(share, batch: batch, client, options)
                }
            }
            try await group.waitForAll()
        }
        let end = monotonicNow()
        await client.flush()
        report([
            ("jobs", Double(share * callers)), ("seconds", seconds(from: start, to: end)),
            ("flushed_seconds", seconds(from: start, to: monotonicNow())),
        ])
    }

    @concurrent private static func enqueue(
        _ count: Int, batch: Int, _ client: JobClient, _ options: EnqueueOptions
    ) async throws {
        var left = count
        while left > 0 {
            if batch == 1 {
                _ = try await client.enqueue(Noop(payload: payload), options)
            } else {
                let jobs = (0..<min(batch, left)).map { _ in Noop(payload: payload) }
                _ = try await client.enqueue(jobs, options)
            }
            left -= batch
        }
    }

    /// Enqueues probes at a rate; with `--by sql`, through errand.enqueue() on one connection.
    static func probe(_ flags: Flags) async throws {
        let queue = try flags.text("queue", "default")
        let plan = try Plan(flags)
        if try flags.text("by", "swift") == "sql" {
            let session = Session(SessionSettings(try flags.database(), name: "bench-sql"))
            let sql = """
                SELECT errand.enqueue('bench.probe', jsonb_build_object(
                    'n', $1::bigint, 'sent', $2::bigint, 'payload', $3::text), queue => $4)
                """
            try await plan.run { n, sent in
                _ = try await session.query(
                    sql, [.int64(Int64(n)), .int64(sent), .text(payload), .text(queue)])
            }
            return
        }
        let client = try await flags.client(connections: 8)
        let options = EnqueueOptions(queue: queue)
        try await plan.run { n, sent in
            _ = try await client.enqueue(Probe(n: n, sent: sent, payload: payload), options)
        }
    }
}
