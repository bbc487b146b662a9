import FoundationEssentials
import ErrandHTTP
import ErrandHTTPServer
import ErrandTerminal

/// `errand doctor --probe`: queries the probes of the process on this machine, for container
/// engines whose health checks are commands.
enum DoctorProbe: String, CaseIterable, Sendable {
    case startup
    case live
    case ready

    static let option = Option<DoctorProbe?>.value(
        "probe",
        ValueFormat(
            "startup|live|ready", expected: "startup, live or ready",
            choices: allCases.map(\.rawValue)
        ) { DoctorProbe(rawValue: $0) },
        help: "Only query the process that listens at ERRAND_LISTEN on this machine; exit 0 or 1")

    /// Container engines kill slow probes; this one fails with a message before that.
    private static let timeout = Duration.seconds(4)

    private var path: String {
        switch self {
        case .startup: "/startupz"
        case .live: "/livez"
        case .ready: "/readyz"
        }
    }

    /// Queries the probe; throws with the process's answer if the probe fails.
    func run(_ invocation: Invocation) async throws -> ExitCode {
        guard let address = try ListenOption.address(invocation.environment) else {
            throw CommandFailure(
                exit: .usage, message: "\(ListenOption.variable) is not set",
                hint: "set it as for the process, for example to 9464")
        }
        let url = "http://\(address.localAuthority)\(path)"
        let client = HTTPClient(
            HTTPSettings(
                connectLimit: Self.timeout, bodyLimit: 64 * 1024, http2: .never,
                allowsPrivateAddresses: true, allowsPlainText: true))
        let answer: HTTPResponse
        do throws(HTTPFailure) {
            answer = try await client.send(
                HTTPRequest(method: "GET", url: url, timeout: Self.timeout))
        } catch {
            throw CommandFailure(
                exit: .failed, message: "no answer from \(url): \(error)",
                hint: "check that the process runs and listens there")
        }
        let words = String(decoding: answer.body.prefix(1_000), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard answer.status == 200 else {
            throw CommandFailure(exit: .failed, message: "not \(state): \(words)")
        }
        try invocation.output.show(
            Record([
                ("check", .text(rawValue)), ("severity", .text("ok")), ("message", .text(words)),
            ]))
        return .done
    }

    private var state: String {
        switch self {
        case .startup: "started"
        case .live: "alive"
        case .ready: "ready"
        }
    }
}
