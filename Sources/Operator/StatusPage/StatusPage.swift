package import ErrandHTTPServer
package import Errand
package import ErrandPostgres

/// Reads the metrics of the modules in a session with short timeouts; also returns a failure of
/// any of them.
package typealias ModuleMetrics =
    @Sendable (Session) async -> (families: [MetricFamily], failure: String?)

/// The HTTP endpoints of a process: `/metrics`, and the probes of containers.
///
/// - `/startupz`: the process has registered and has received its operator commands.
/// - `/livez`: its loops run. A server that is down does not matter: a restart would not fix it.
/// - `/readyz`: it is ready for work.
///
/// The probes respond from memory on the HTTP server's own thread, even if jobs block every other
/// thread. No response contains secrets, and no request changes anything.
package struct StatusPage: Sendable {
    /// The time without an iteration after which the loops count as stuck.
    ///
    /// The timeouts of the loops' requests to servers are a fraction of it.
    static let stillnessLimit = Duration.seconds(300)
    /// The time after which the threads of the task executor count as blocked.
    static let livenessLimit = Duration.seconds(60)

    private let stats: WorkerStats
    private let version: String
    private let watch: EngineWatch
    private let liveness = Liveness()

    /// Creates the page of a process.
    ///
    /// - Parameters:
    ///   - stats: the stats of the process.
    ///   - database: the URL of the database whose gauges `/metrics` shows.
    ///   - version: the version of the program.
    ///   - others: reads the metrics of the modules.
    package init(
        stats: WorkerStats, database: String, version: String,
        others: @escaping ModuleMetrics = { _ in ([], nil) }, log: Log
    ) {
        self.stats = stats
        self.version = version
        watch = EngineWatch(database: database, stats: stats, others: others, log: log)
    }

    /// Serves the page at `address` while `body` runs.
    ///
    /// - Parameter onListening: receives the actual port.
    /// - Throws: `HTTPServerFailure` if it cannot listen at the address, and the errors of `body`.
    package func shown<Value: Sendable>(
        at address: ListenAddress, onListening: (UInt16) -> Void,
        while body: () async throws -> Value
    ) async throws -> Value {
        let listener = try HTTPListener(address) { answer($0) }
        onListening(listener.port)
        let beating = Task { await liveness.run() }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        beating.cancel()
        await listener.stop()
        await watch.close()
        return try result.get()
    }

    func answer(_ question: HTTPServerRequest) -> HTTPServerReply {
        switch question.path {
        case "/startupz": .now(startup)
        case "/livez": .now(live)
        case "/readyz": .now(ready)
        case "/metrics":
            .later {
                let form = Exposition(accept: question.accept)
                return HTTPServerResponse(200, type: form.mediaType, form.text(await families()))
            }
        default:
            .now(HTTPServerResponse(404, "not found: use /metrics, /startupz, /livez or /readyz\n"))
        }
    }

    private var startup: HTTPServerResponse {
        stats.phase == .starting
            ? HTTPServerResponse(503, "not started yet\n") : HTTPServerResponse(200, "ok\n")
    }

    private var live: HTTPServerResponse {
        if liveness.age > Self.livenessLimit {
            return HTTPServerResponse(
                503, "no task has run for \(liveness.age.components.seconds) s\n")
        }
        if let stillness = stats.stillness, stillness > Self.stillnessLimit {
            return HTTPServerResponse(
                503, "no loop has run for \(stillness.components.seconds) s\n")
        }
        return HTTPServerResponse(200, "ok\n")
    }

    private var ready: HTTPServerResponse {
        stats.trouble.map { HTTPServerResponse(503, "\($0)\n") } ?? HTTPServerResponse(200, "ok\n")
    }

    /// All metrics.
    func families() async -> [MetricFamily] {
        var build = MetricFamily("errand_build", .info, "The version of this program")
        build.add(1, ("version", version))
        let reading = await watch.reading()
        var families = [build] + WorkerMetrics(stats: stats).families()
        families += await servers(reading)
        if let engine = reading.engine { families += EngineMetrics(numbers: engine).families() }
        if let windows = reading.windows {
            var family = MetricFamily(
                "errand_window_ids", .gauge, "Jobs of a queue that are staged in Redis")
            for (queue, size) in windows.sorted(by: { $0.key < $1.key }) {
                family.add(size, ("queue", queue))
            }
            families.append(family)
        }
        return families + ProcessMetrics.families() + reading.others
    }

    private func servers(_ reading: EngineWatch.Reading) async -> [MetricFamily] {
        var up = MetricFamily(
            "errand_up", .gauge, "Whether a server responded when the gauges were last read")
        up.add(reading.postgresAnswers ? 1 : 0, ("server", "postgresql"))
        if let answers = reading.redisAnswers { up.add(answers ? 1 : 0, ("server", "redis")) }
        return [
            up,
            MetricFamily(
                "errand_reading_seconds", .gauge, "Duration of the last reading of the gauges",
                reading.length / .seconds(1)),
            MetricFamily(
                "errand_reading_failures", .counter, "Failed readings of the gauges",
                Double(await watch.failures)),
        ]
    }
}
