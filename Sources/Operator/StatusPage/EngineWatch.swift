import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis

/// Reads the gauges of the servers on demand, at most every ten seconds, however often Prometheus
/// scrapes.
actor EngineWatch {
    /// The result of reading the gauges.
    struct Reading: Sendable {
        var engine: EngineNumbers?
        /// The metrics of the modules.
        var others: [MetricFamily] = []
        /// Ids staged in Redis, by queue; nil if this process works no queue.
        var windows: [String: Int]?
        var postgresAnswers = false
        /// nil if this process does not use Redis.
        var redisAnswers: Bool?
        /// How long reading the gauges took.
        var length = Duration.zero
    }

    private static let interval = Duration.seconds(10)

    private let session: Session
    private let stats: WorkerStats
    private let others: ModuleMetrics
    private let log: Log
    private let throttle = LogThrottle()
    private let throttleOfOthers = LogThrottle()
    private var last: (reading: Reading, at: ContinuousClock.Instant)?
    private var underWay: Task<Reading, Never>?
    /// The number of readings that failed, partly or entirely.
    private(set) var failures = 0

    init(database: String, stats: WorkerStats, others: @escaping ModuleMetrics, log: Log) {
        session = EngineNumbers.session(database)
        self.others = others
        self.stats = stats
        self.log = log
    }

    /// Returns the last reading, or a new one if that is outdated.
    ///
    /// A server that does not respond delays it by only a few seconds: the timeouts are short.
    func reading() async -> Reading {
        if let last, ContinuousClock.now - last.at < Self.interval { return last.reading }
        if let underWay { return await underWay.value }
        let task = Task { await read() }
        underWay = task
        let reading = await task.value
        last = (reading, .now)
        underWay = nil
        return reading
    }

    /// Closes the connections.
    func close() async {
        _ = await underWay?.value
        await session.close()
        await stats.windows?.close()
    }

    private func read() async -> Reading {
        let start = ContinuousClock.now
        var reading = Reading()
        async let windows = readWindows()
        do {
            reading.engine = try await EngineNumbers.read(session)
            reading.postgresAnswers = true
            throttle.resolved(log, "reading the metrics from PostgreSQL works again")
        } catch {
            failures += 1
            // A server that refuses connections (FATAL) counts as down.
            if case .server(let refusal)? = error as? PostgresError {
                reading.postgresAnswers = refusal.severity == "ERROR"
            }
            throttle.warn(log, "could not read the metrics from PostgreSQL: \(error)")
        }
        if reading.engine != nil { await readOthers(into: &reading) }
        (reading.windows, reading.redisAnswers) = await windows
        if reading.redisAnswers == false { failures += 1 }
        reading.length = .now - start
        return reading
    }

    private func readOthers(into reading: inout Reading) async {
        let (families, failure) = await others(session)
        var names: Set<String> = []
        var flaws: [String] = []
        for family in families {
            if let flaw = family.flaw {
                flaws.append(flaw)
            } else if !names.insert(family.name).inserted {
                flaws.append("the metric \(family.name) is a duplicate")
            } else {
                reading.others.append(family)
            }
        }
        if let problem = failure ?? flaws.first {
            failures += 1
            throttleOfOthers.warn(log, "metrics of a module are left out: \(problem)")
        } else {
            throttleOfOthers.resolved(log, "the metrics of all modules are complete again")
        }
    }

    private func readWindows() async -> ([String: Int]?, Bool?) {
        guard let windows = stats.windows else { return (nil, nil) }
        do { return (try await windows.read(), true) } catch RedisError.server {
            return (nil, true)
        } catch {
            return (nil, false)
        }
    }
}
