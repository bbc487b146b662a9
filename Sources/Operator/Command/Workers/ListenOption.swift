import ErrandHTTPServer
import Errand
import ErrandStatusPage
import ErrandTerminal

/// `--listen`: the address at which a process serves its metrics and probes.
enum ListenOption {
    static let variable = "ERRAND_LISTEN"
    static let option = Option<ListenAddress?>.value(
        "listen", format, environment: variable,
        help: "Serve /metrics, /startupz, /livez and /readyz over HTTP at this port, for this "
            + "machine alone unless an address is given (default: off)")

    private static let format = ValueFormat(
        "[ADDRESS:]PORT", expected: "a port such as 9464, or 0.0.0.0:9464, or [::]:9464"
    ) { ListenAddress($0) }

    /// The address in the environment; nil if it is not set.
    static func address(
        _ environment: [String: String]
    ) throws(CommandFailure) -> ListenAddress? {
        guard let text = Variables(all: environment)[variable] else { return nil }
        guard let address = ListenAddress(text) else {
            throw CommandFailure(
                exit: .usage, message: "\(variable)=\(text): expected \(format.expected)")
        }
        return address
    }

    /// Runs `body`, and serves the page meanwhile if `--listen` is given.
    static func shown<Value: Sendable>(
        _ invocation: Invocation, _ stats: WorkerStats, log: Log,
        while body: () async throws -> Value
    ) async throws -> Value {
        guard let address = invocation[option] else { return try await body() }
        let (modules, environment) = (invocation.modules, invocation.environment)
        let page = StatusPage(
            stats: stats, database: try invocation.databaseURL(),
            version: invocation.program.version,
            others: { await modules.metrics($0, environment: environment) }, log: log)
        do {
            return try await page.shown(at: address) { port in
                let place = ListenAddress(host: address.host, port: port)
                log.info("serving metrics and probes at \(place)")
            } while: {
                try await body()
            }
        } catch let failure as HTTPServerFailure {
            throw CommandFailure(
                exit: .failed, message: failure.description,
                hint: failure.isTaken
                    ? "another process listens there: 'ss -ltnp' shows it; choose another port "
                        + "with --listen (\(variable))"
                    : "correct --listen (\(variable))")
        }
    }
}
