import Foundation
import ErrandTestServices
import Testing

/// What checks and tries the files of `deploy/kubernetes`, `deploy/systemd` and `deploy/cron`.
enum DeployFolder {
    static let checkout = Checkout.root
    /// The queues to which no kind belongs by itself: for jobs without a queue, and the providers'.
    private static let otherQueues: Set = ["default", "people", "mail", "apns", "fcm"]

    /// A Python with the published schemas, beside the programs that the checks call.
    static func python() async throws -> String {
        let script = checkout.appending(path: "scripts/deploy-checkers").path
        let program = try Program("/bin/bash", [script])
        guard case .exited(0) = try await program.end(within: .seconds(400)) else {
            throw Program.Trouble("scripts/deploy-checkers failed: \(program.errors)")
        }
        return program.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs one of the scripts beside the simulators to its end.
    ///
    /// - Returns: its lines, of which the last is empty or says that all is well.
    /// - Throws: `Program.Trouble` with all that it printed, when it found something amiss.
    static func run(
        _ script: String, _ arguments: [String], within limit: Duration
    ) async throws -> [Substring] {
        let path = checkout.appending(path: "Tests/Simulators/\(script)").path
        let program = try Program(try await python(), ["-B", path] + arguments)
        let end = try await program.end(within: limit)
        guard end == .exited(0) else {
            throw Program.Trouble("\(script): \(end)\n\(program.output)\(program.errors)")
        }
        return program.output.split(separator: "\n")
    }

    /// The queues of all kinds of job that the program declares, and the others that it knows.
    static func queues() async throws -> [String] {
        let run = try await errand("kind", "ls", "-ojson")
        run.expect(0)
        return Set(try run.records.compactMap { $0["queue"].text }).union(otherQueues).sorted()
    }

    /// The program by a path that is good in any folder.
    static var binary: String { URL(filePath: Program.errand).path }
}
