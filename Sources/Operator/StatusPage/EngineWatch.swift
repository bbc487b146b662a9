import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandRedis

/// Reads the gauges of the servers for those who ask, and every ten seconds at most: two
/// Prometheus servers, or one that hurries, cost no more than one.
actor EngineWatch {
    /// What was read, and what could not be.
    struct Reading: Sendable {
        var engine: EngineNumbers?
        /// Those of the modules.
        var others: [MetricFamily] = []
        /// Ids that Redis holds, by queue; nil where no queue is worked.
        var windows: [String: Int]?
        var postgresAnswers = false
        /// Nil where Redis is not asked.
        var redisAnswers: Bool?
        /// How long the reading took.
        var length = Duration.zero
    }

    private static let interval = Duration.seconds(10)

    private let session: Session
    private let vitals: Vitals
    private let others: OtherMetrics
    private let log: Log
    private let complaint = Complaint()
    private let complaintOfOthers = Complaint()
    private var last: (reading: Reading, at: ContinuousClock.Instant)?
    private var underWay: Task<Reading, Never>?
    /// Readings that failed, in part or as a whole.
    private(set) var failures = 0

    init(database: String, vitals: Vitals, others: @escaping OtherMetrics, log: Log) {
        session = EngineNumbers.session(database)
        self.others = others
        self.vitals = vitals
        self.log = log
    }

    /// The last reading, or a new one if that has grown old.
    ///
    /// A server that does not answer takes a few seconds: its time limits are short.
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

    /// Ends the connections.
    func close() async {
        _ = await underWay?.value
        await session.close()
        await vitals.windows?.close()
    }

    private func read() async -> Reading {
        let start = ContinuousClock.now
        var reading = Reading()
        async let windows = readWindows()
        do {
            reading.engine = try await EngineNumbers.read(session)
            reading.postgresAnswers = true
            complaint.resolved(log, "the numbers for metrics are read again")
        } catch {
            failures += 1
            // One that refuses the connection (FATAL) is up for nobody.
            if case .server(let refusal)? = error as? PostgresError {
                reading.postgresAnswers = refusal.severity == "ERROR"
            }
            complaint.warn(log, "the numbers for metrics could not be read: \(error)")
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
                flaws.append("the metric \(family.name) is there twice")
            } else {
                reading.others.append(family)
            }
        }
        if let problem = failure ?? flaws.first {
            failures += 1
            complaintOfOthers.warn(log, "metrics of a module are left out: \(problem)")
        } else {
            complaintOfOthers.resolved(log, "the metrics of all modules are read again")
        }
    }

    private func readWindows() async -> ([String: Int]?, Bool?) {
        guard let windows = vitals.windows else { return (nil, nil) }
        do { return (try await windows.read(), true) } catch RedisError.server {
            return (nil, true)
        } catch {
            return (nil, false)
        }
    }
}
