import Foundation
import ErrandHTTP
import ErrandTestServices
import Testing

/// A process that shows its page on a port that the system has chosen.
struct Listening {
    var program: Program
    var port: String
    private let client = HTTPClient(
        HTTPSettings(
            bodyLimit: 1 << 22, http2: .never, allowsPrivateAddresses: true, allowsPlainText: true))

    /// Starts it, and waits until it listens.
    init(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let program = try start(
            arguments + ["--listen", "127.0.0.1:0"], environment: environment)
        try await eventually("the port of \(arguments)") {
            guard program.isRunning else { throw Program.Trouble(program.errors) }
            return Self.port(of: program) != nil
        }
        self.program = program
        port = try #require(Self.port(of: program))
    }

    private static func port(of program: Program) -> String? {
        let words = "serving metrics and probes at 127.0.0.1:"
        guard let range = program.errors.range(of: words) else { return nil }
        let digits = program.errors[range.upperBound...].prefix { $0.isNumber }
        return digits.endIndex < program.errors.endIndex ? String(digits) : nil
    }

    /// What `errand doctor --probe` has to be told.
    var environment: [String: String] { ["ERRAND_LISTEN": "127.0.0.1:\(port)"] }

    func get(_ path: String, accept: String = "*/*") async throws -> HTTPResponse {
        try await client.send(
            HTTPRequest(
                method: "GET", url: "http://127.0.0.1:\(port)\(path)",
                headers: [("Accept", accept)], timeout: .seconds(30)))
    }

    /// The answer of a probe.
    func probe(_ name: String) async throws -> (status: Int, text: String) {
        let answer = try await get("/\(name)")
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    /// Waits until it is ready.
    func ready() async throws {
        try await eventually("the worker to be ready") { try await probe("readyz").status == 200 }
    }

    func scrape(openMetrics: Bool = false) async throws -> Scrape {
        let answer = try await get(
            "/metrics", accept: openMetrics ? "application/openmetrics-text" : "text/plain")
        #expect(answer.status == 200)
        #expect(
            answer.header("Content-Type")
                == (openMetrics
                    ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                    : "text/plain; version=0.0.4; charset=utf-8"))
        return try await Scrape(
            text: String(decoding: answer.body, as: UTF8.self),
            format: openMetrics ? "openmetrics" : "prometheus")
    }

    /// Ends it as an operator does.
    func end() async throws {
        program.signal(SIGTERM)
        try await finish(program).expect(0)
        await client.close()
    }
}

/// What one scrape gave, read by Prometheus's own library.
struct Scrape {
    struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
        var type: String
    }

    var text: String
    var samples: [Sample]

    init(text: String, format: String) async throws {
        self.text = text
        let reader = Checkout.simulators.appending(path: "oracles/metrics_reader.py").path
        let python = try #require(
            ProcessInfo.processInfo.environment["ERRAND_ORACLES"],
            "set it to what 'scripts/oracles' prints: a Python that has prometheus_client")
        let program = try Program("/usr/bin/env", [python, reader, format], input: text)
        let end = try await program.end(within: .seconds(60))
        guard end == .exited(0) else {
            throw Program.Trouble("\(format): \(program.errors.suffix(2_000))\n\(text)")
        }
        samples = try program.output.split(separator: "\n").map { line in
            let parts = try JSONDecoder().decode(JSON.self, from: Data(line.utf8)).elements
            var labels: [String: String] = [:]
            for name in parts[1].names { labels[name] = parts[1][name].text }
            return Sample(
                name: parts[0].text ?? "", labels: labels,
                value: Double(parts[2].text ?? "") ?? .nan, type: parts[3].text ?? "")
        }
    }

    /// The only sample of that name that has at least these labels.
    subscript(_ name: String, _ labels: [String: String]) -> Double? {
        let found = samples.filter { sample in
            sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }
        return found.count == 1 ? found[0].value : nil
    }

    subscript(_ name: String) -> Double? { self[name, [:]] }

    var names: Set<String> { Set(samples.map(\.name)) }
}

/// Runs promtool to its end.
func promtool(_ arguments: String..., input: String = "") async throws -> Run {
    let program = try Program(
        "/usr/bin/env", ["bash", "scripts/promtool"] + arguments, input: input)
    let end = try await program.end(within: .seconds(300))
    guard case .exited(let code) = end else { throw Program.Trouble("promtool: \(end)") }
    return Run(
        arguments: arguments, output: program.output, errors: program.errors, code: code)
}
