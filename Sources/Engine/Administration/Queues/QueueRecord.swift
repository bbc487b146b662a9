package import Errand
package import ErrandPostgres

/// The numbers of one queue.
package struct QueueRecord: Sendable {
    package var name: String
    package var available = 0
    package var scheduled = 0
    package var retrying = 0
    package var running = 0
    /// Whether the four counts above are estimates.
    package var isEstimate = false
    package var dead = 0
    package var isDeadEstimate = false
    /// The number of live workers, of their slots, and of the busy slots at the last heartbeat.
    package var workers = 0
    package var slots = 0
    package var busy = 0
    /// When the oldest waiting job was due; always exact.
    package var oldest: Instant?
    package var pausedAt: Instant?
    package var pausedBy: String?
    package var pauseReason: String?
    /// When it resumes automatically.
    package var pausedUntil: Instant?
    /// New jobs per second within the last minute; nil if this database role may not read it.
    package var rateIn: Double?
    /// Whether `rateIn` is an estimate: there were too many jobs, or some have left no trace.
    package var isRateInEstimate = false
    /// Completed, dead and cancelled jobs per second, in this minute and the one before.
    package var rateOut = 0.0
    /// The times from due to start in the last ten minutes.
    package var waits = DurationHistogram()

    init(_ row: Row) throws {
        name = try row.text("name")
        available = Int(try row.int64("available"))
        scheduled = Int(try row.int64("scheduled"))
        retrying = Int(try row.int64("retrying"))
        running = Int(try row.int64("running"))
        isEstimate = try row.bool("is_estimate")
        dead = Int(try row.int64("dead"))
        isDeadEstimate = try row.bool("is_dead_estimate")
        workers = Int(try row.int64("workers"))
        slots = Int(try row.int64("slots"))
        busy = Int(try row.int64("busy"))
        oldest = try row.optionalTimestamp("oldest")
        pausedAt = try row.optionalTimestamp("paused_at")
        pausedBy = try row.optionalText("paused_by")
        pauseReason = try row.optionalText("pause_reason")
        pausedUntil = try row.optionalTimestamp("paused_until")
    }

    /// Creates the record of an empty queue.
    package init(name: String) { self.name = name }

    /// The time until the queue is empty at these rates; nil if it does not shrink, or unknown.
    package var drainTime: Duration? {
        if available == 0, oldest == nil { return .zero }
        guard pausedAt == nil, let rateIn, rateOut > rateIn else { return nil }
        let surplus = rateOut - rateIn
        return .seconds(min(Double(max(available, 1)) / surplus, 1e12))
    }

    /// How long the oldest job has waited.
    package func oldestWait(at now: Instant) -> Duration? {
        oldest.map { max(now.durationSince($0), .zero) }
    }
}

/// Reads the numbers of the queues with three statements in one round trip.
struct QueueReading {
    /// The number of jobs to count per queue.
    private static let countLimit: Int64 = 10_000
    /// The age in seconds of waits to include.
    private static let waitSpan = 600.0

    static func statements(named name: String? = nil, isExact: Bool = false) -> [Statement] {
        [
            Statement(
                Statements.queueDepths,
                [.optional(name), isExact ? .null : .int64(countLimit)]),
            Statement(Statements.arrivals),
            Statement(Statements.queueActivity, [.double(waitSpan), .optional(name)]),
        ]
    }

    /// The queues from the results of these statements.
    static func queues(_ answers: some Collection<Rows>) throws -> [QueueRecord] {
        let answers = Array(answers)
        var queues = try answers[0].map(QueueRecord.init)
        let places = Dictionary(
            queues.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { $1 })
        try setArrivals(answers[1], places, &queues)
        for row in answers[2] {
            guard let place = places[try row.text("queue")] else { continue }
            queues[place].rateOut = Double(try row.int64("ended")) / (try row.double("seconds"))
            queues[place].waits = try DurationHistogram(row, "wait_buckets", "wait_counts")
        }
        return queues
    }

    private static func setArrivals(
        _ rows: Rows, _ places: [String: Int], _ queues: inout [QueueRecord]
    ) throws {
        // The row of all queues; without it, the rates are unknown.
        let all = try rows.first { try $0.optionalText("queue") == nil }
        guard let all else { return }
        let isLess = try all.bool("is_estimate")
        for place in queues.indices {
            queues[place].rateIn = 0
            queues[place].isRateInEstimate = isLess
        }
        for row in rows {
            guard let name = try row.optionalText("queue"), let place = places[name] else {
                continue
            }
            queues[place].rateIn = Double(try row.int64("jobs")) / (try row.double("seconds"))
            queues[place].isRateInEstimate = try isLess || row.bool("is_estimate")
        }
    }
}

extension DurationHistogram {
    /// Creates a histogram from two columns of `errand.activity`.
    init(_ row: Row, _ buckets: String, _ counts: String) throws {
        self.init()
        for (bucket, count) in zip(try row.int64Array(buckets), try row.int64Array(counts)) {
            add(Int(count), toBucket: Int(bucket))
        }
    }
}

extension Inspector {
    /// All queues, or only the named one; counts of long queues are estimates unless `isExact`.
    package func queues(
        named name: String? = nil, isExact: Bool = false
    ) async throws -> [QueueRecord] {
        try QueueReading.queues(
            await session.pipeline(QueueReading.statements(named: name, isExact: isExact)))
    }
}
