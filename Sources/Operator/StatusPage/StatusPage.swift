package import ErrandHTTPServer
package import Errand
package import ErrandPostgres

/// Reads the metrics of others than the engine, in a session that waits for nothing for long;
/// and what went wrong with some of them.
package typealias OtherMetrics =
    @Sendable (Session) async -> (families: [MetricFamily], failure: String?)

/// What a process that works shows over HTTP: `/metrics`, and the probes of containers.
///
/// - `/startupz`: it has declared itself and knows what operators ask of it.
/// - `/livez`: its loops turn, whether or not a server is down: a restart mends no database.
/// - `/readyz`: work may be expected of it.
///
/// Probes are answered from memory, on the server's own thread: also when every other thread is
/// taken by jobs. There is no secret in any answer, and nothing that can be changed.
package struct StatusPage: Sendable {
    /// A loop that has not gone round for so long never will.
    ///
    /// Each wait of the loops for a server is limited to a fraction of it.
    static let stillnessLimit = Duration.seconds(300)
    /// The same of the threads that all tasks share: so long nothing may hold them all.
    static let pulseLimit = Duration.seconds(60)

    private let vitals: Vitals
    private let version: String
    private let watch: EngineWatch
    private let pulse = Pulse()

    /// A page of the process with these vitals.
    ///
    /// - Parameters:
    ///   - database: whose gauges are read for `/metrics`, as libpq takes it.
    ///   - version: of this program.
    ///   - others: what ``OtherMetrics`` says.
    package init(
        vitals: Vitals, database: String, version: String,
        others: @escaping OtherMetrics = { _ in ([], nil) }, log: Log
    ) {
        self.vitals = vitals
        self.version = version
        watch = EngineWatch(database: database, vitals: vitals, others: others, log: log)
    }

    /// Shows the page at `address` while `body` runs, and closes it then.
    ///
    /// - Parameter onListening: is told the port in force.
    /// - Throws: `HTTPServerFailure` when nothing can listen there, and what `body` throws.
    package func shown<Value: Sendable>(
        at address: ListenAddress, onListening: (UInt16) -> Void,
        while body: () async throws -> Value
    ) async throws -> Value {
        let listener = try HTTPListener(address) { answer($0) }
        onListening(listener.port)
        let beating = Task { await pulse.run() }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        beating.cancel()
        await listener.stop()
        await watch.close()
        return try result.get()
    }

    func answer(_ question: HTTPQuestion) -> HTTPReply {
        switch question.path {
        case "/startupz": .now(startup)
        case "/livez": .now(live)
        case "/readyz": .now(ready)
        case "/metrics":
            .later {
                let form = Exposition(accept: question.accept)
                return HTTPAnswer(200, type: form.mediaType, form.text(await families()))
            }
        default: .now(HTTPAnswer(404, "there are /metrics, /startupz, /livez and /readyz\n"))
        }
    }

    private var startup: HTTPAnswer {
        vitals.phase == .starting ? HTTPAnswer(503, "not started yet\n") : HTTPAnswer(200, "ok\n")
    }

    private var live: HTTPAnswer {
        if pulse.age > Self.pulseLimit {
            return HTTPAnswer(
                503, "no task has had a turn for \(pulse.age.components.seconds) s\n")
        }
        if let stillness = vitals.stillness, stillness > Self.stillnessLimit {
            return HTTPAnswer(503, "no loop has turned for \(stillness.components.seconds) s\n")
        }
        return HTTPAnswer(200, "ok\n")
    }

    private var ready: HTTPAnswer {
        vitals.trouble.map { HTTPAnswer(503, "\($0)\n") } ?? HTTPAnswer(200, "ok\n")
    }

    /// All metrics.
    func families() async -> [MetricFamily] {
        var build = MetricFamily("errand_build", .info, "Which program this is")
        build.add(1, ("version", version))
        let reading = await watch.reading()
        var families = [build] + WorkerMetrics(vitals: vitals).families()
        families += await servers(reading)
        if let engine = reading.engine { families += EngineMetrics(numbers: engine).families() }
        if let windows = reading.windows {
            var family = MetricFamily(
                "errand_window_ids", .gauge, "Ids that Redis holds ready for a queue's workers")
            for (queue, size) in windows.sorted(by: { $0.key < $1.key }) {
                family.add(size, ("queue", queue))
            }
            families.append(family)
        }
        return families + ProcessMetrics.families() + reading.others
    }

    private func servers(_ reading: EngineWatch.Reading) async -> [MetricFamily] {
        var up = MetricFamily(
            "errand_up", .gauge, "Whether a server answered when the gauges were read last")
        up.add(reading.postgresAnswers ? 1 : 0, ("server", "postgresql"))
        if let answers = reading.redisAnswers { up.add(answers ? 1 : 0, ("server", "redis")) }
        return [
            up,
            MetricFamily(
                "errand_reading_seconds", .gauge, "How long that reading took",
                reading.length / .seconds(1)),
            MetricFamily(
                "errand_reading_failures", .counter, "Readings that failed",
                Double(await watch.failures)),
        ]
    }
}
