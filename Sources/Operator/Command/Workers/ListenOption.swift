import ErrandHTTPServer
import Errand
import ErrandStatusPage
import ErrandTerminal

/// `--listen`: where a process that works shows its metrics and probes.
enum ListenOption {
    static let variable = "ERRAND_LISTEN"
    static let option = Option<ListenAddress?>.value(
        "listen", format, environment: variable,
        help: "Show /metrics, /startupz, /livez and /readyz over HTTP at this port, on all "
            + "addresses unless one is given (default: nowhere)")

    private static let format = ValueFormat(
        "[ADDRESS:]PORT", expected: "a port such as 9464, or 127.0.0.1:9464, or [::1]:9464"
    ) { ListenAddress($0) }

    /// The address of an environment, for those who ask; nil when it names none.
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

    /// Does what `body` does, and shows the page meanwhile where one is asked for.
    static func shown<Value: Sendable>(
        _ invocation: Invocation, _ vitals: Vitals, log: Log,
        while body: () async throws -> Value
    ) async throws -> Value {
        guard let address = invocation[option] else { return try await body() }
        let (modules, environment) = (invocation.modules, invocation.environment)
        let page = StatusPage(
            vitals: vitals, database: try invocation.databaseURL(),
            version: invocation.program.version,
            others: { await modules.metrics($0, environment: environment) }, log: log)
        do {
            return try await page.shown(at: address) { port in
                let place = ListenAddress(host: address.host, port: port)
                log.info("metrics and probes are shown at \(place)")
            } while: {
                try await body()
            }
        } catch let failure as HTTPServerFailure {
            throw CommandFailure(
                exit: .failed, message: failure.description,
                hint: failure.isTaken
                    ? "another process listens there: 'ss -ltnp' names it; give this one another "
                        + "port by --listen (\(variable))"
                    : "correct --listen (\(variable))")
        }
    }
}
