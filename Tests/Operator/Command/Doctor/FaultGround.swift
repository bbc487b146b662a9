import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

/// What a command says that is amiss, and the line that it prints to mend it.
struct Fault {
    var found: String
    var remedy: String

    /// Pastes the line into a shell that has `errand`, as it was printed.
    func paste(environment: [String: String] = [:]) throws -> Program {
        let folder = URL(filePath: Program.errand).absoluteURL.deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return try start(
            [], environment: ["PATH": "\(folder):\(path)"].merging(environment) { $1 },
            through: ["/bin/bash", "-c", remedy])
    }

    /// Pastes a line that comes to an end.
    func mend(
        environment: [String: String] = [:], at place: SourceLocation = #_sourceLocation
    ) async throws {
        try await finish(try paste(environment: environment), [remedy], at: place)
            .expect(0, at: place)
    }

    /// Pastes a line that asks, on a terminal, and says yes.
    func confirm() async throws {
        let folder = URL(filePath: Program.errand).absoluteURL.deletingLastPathComponent().path
        let call = try TerminalRun.call(
            ["/usr/bin/env", "PATH=\(folder):/usr/bin:/bin", "bash", "-c", remedy], rows: 24,
            columns: 100, steps: [.wait("[y/N]"), .send("y\r")])
        let run = try await finish(try start([], input: call.input, through: call.words))
        let result = try JSONDecoder().decode(TerminalRun.self, from: Data(run.output.utf8))
        #expect(result.code == 0, "\(remedy)\n\(result.text)")
    }

    /// Pastes a line that starts a worker, and stops that once something is so.
    func mend(
        within limit: Duration = .seconds(30), until what: String,
        _ condition: () async throws -> Bool
    ) async throws {
        let worker = try paste(environment: ["ERRAND_GRACE": "0s"])
        try await eventually(what, within: limit, condition)
        worker.signal(SIGTERM)
        try await finish(worker, [remedy]).expect(0)
    }
}

/// What `errand doctor` or `errand status --check` finds with these words in it; nil when nothing.
func fault(
    _ words: String, by command: [String] = ["doctor"], environment: [String: String] = [:]
) async throws -> Fault? {
    let run = try await errand(command + ["-ojson"], environment: environment)
    #expect([0, 10, 11].contains(run.code), "\(run.errors)")
    for record in try run.records where record["message"].text?.contains(words) == true {
        if let found = record["message"].text, let remedy = record["remedy"].text {
            return Fault(found: found, remedy: remedy)
        }
    }
    return nil
}

/// The same, once it is found.
func planted(
    _ words: String, by command: [String] = ["doctor"], environment: [String: String] = [:]
) async throws -> Fault {
    var found: Fault?
    try await eventually("'\(words)' to be found by \(command)") {
        found = try await fault(words, by: command, environment: environment)
        return found != nil
    }
    return try #require(found)
}

/// What `errand job why` says.
func fault(
    of job: JSON, cause: JSON, environment: [String: String] = [:]
) async throws -> Fault {
    var answer = JSON.null
    try await eventually("job \(job.id) to be held by \(cause)") {
        let run = try await errand(["job", "why", job.id, "-ojson"], environment: environment)
        answer = try run.record
        return answer["cause"] == cause
    }
    return Fault(
        found: try #require(answer["explanation"].text), remedy: try #require(answer["remedy"].text)
    )
}

/// The state that a job is in.
func state(of job: JSON) async throws -> JSON { try await made("job", "show", job.id)["state"] }

/// Waits until a job has run to its end.
func completed(_ job: JSON) async throws {
    try await eventually("job \(job.id) to be completed") {
        try await state(of: job) == "completed"
    }
}

/// A worker that has signed on.
func signedOn(
    _ arguments: String..., environment: [String: String] = [:]
) async throws -> Program {
    let before = try await number("SELECT coalesce(max(id), 0) FROM errand.workers")
    let worker = try start(["work"] + arguments, environment: environment)
    try await eventually("the worker to sign on") {
        try await number("SELECT coalesce(max(id), 0) FROM errand.workers") > before
    }
    return worker
}

/// Stops a worker in order.
func stop(_ worker: Program) async throws {
    worker.signal(SIGTERM)
    try await finish(worker).expect(0)
}
