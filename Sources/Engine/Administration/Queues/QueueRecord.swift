package import Errand
package import ErrandPostgres

/// One queue as an operator sees it.
package struct QueueRecord: Sendable {
    package var name: String
    package var available = 0
    package var scheduled = 0
    package var retrying = 0
    package var running = 0
    /// There were too many jobs to count: these four are estimates.
    package var isEstimate = false
    package var dead = 0
    package var isDeadEstimate = false
    /// Live workers of it; their slots, and how many of these were busy at their last heartbeat.
    package var workers = 0
    package var slots = 0
    package var busy = 0
    /// When the job that has waited longest was due; exact also where the rest is not.
    package var oldest: Instant?
    package var pausedAt: Instant?
    package var pausedBy: String?
    package var pauseReason: String?
    /// When it goes on by itself.
    package var pausedUntil: Instant?
    /// Jobs that came a second, within the last minute; nil where this database user may not know
    /// it.
    package var rateIn: Double?
    /// Only some of them could be counted: they were too many, or some have left no trace.
    package var isRateInEstimate = false
    /// Jobs that ended a second (done, dead or cancelled), in the running minute and the last one.
    package var rateOut = 0.0
    /// How long jobs waited from when they were due to their start, in the last ten minutes.
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

    /// One with nothing in it.
    package init(name: String) { self.name = name }

    /// When it will be empty at these rates; nil when it will not, or nobody can tell.
    package var drainTime: Duration? {
        if available == 0, oldest == nil { return .zero }
        guard pausedAt == nil, let rateIn, rateOut > rateIn else { return nil }
        let surplus = rateOut - rateIn
        return .seconds(min(Double(max(available, 1)) / surplus, 1e12))
    }

    /// How long the oldest has waited.
    package func oldestWait(at now: Instant) -> Duration? {
        oldest.map { max(now.durationSince($0), .zero) }
    }
}

/// The numbers of the queues: three statements of one round trip.
struct QueueReading {
    /// Queues are counted up to this many jobs each.
    private static let countLimit: Int64 = 10_000
    /// Seconds of waits to look at.
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

    /// What these statements answered.
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
        // Of all queues; without it nothing is known.
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
    /// From two columns of a row, as `errand.activity` has them.
    init(_ row: Row, _ buckets: String, _ counts: String) throws {
        self.init()
        for (bucket, count) in zip(try row.int64Array(buckets), try row.int64Array(counts)) {
            add(Int(count), toBucket: Int(bucket))
        }
    }
}

extension Inspector {
    /// All queues, or the one of that name; long ones are estimated unless it is to be exact.
    package func queues(
        named name: String? = nil, isExact: Bool = false
    ) async throws -> [QueueRecord] {
        try QueueReading.queues(
            await session.pipeline(QueueReading.statements(named: name, isExact: isExact)))
    }
}
