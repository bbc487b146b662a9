import Foundation
import ErrandTestServices
import Testing

/// A copy of the folder `deploy`, with the linters that look at it and the engine that starts it.
struct DeployGround: ~Copyable {
    /// One fault that is planted in a file, and what has to be said about it.
    struct Fault: Sendable, CustomTestStringConvertible {
        var old: String
        var new: String
        var finding: String

        init(_ old: String, _ new: String, _ finding: String) {
            (self.old, self.new, self.finding) = (old, new, finding)
        }

        var testDescription: String { finding }
    }

    static let root = Checkout.root
    private static let simulators = Checkout.simulators

    let folder: URL
    var deploy: URL { folder.appending(path: "deploy") }

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-deploy-\(UUID().uuidString.prefix(8))")
        // Users of containers have to come by.
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        try FileManager.default.copyItem(
            at: Self.root.appending(path: "deploy"), to: deploy)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// The Python with the linters; installed when it is not there.
    private static func python() async throws -> String {
        let script = root.appending(path: "scripts/deploy-checkers").path
        let program = try Program("/bin/bash", [script])
        guard case .exited(0) = try await program.end(within: .seconds(240)) else {
            throw Program.Trouble("scripts/deploy-checkers failed: \(program.errors)")
        }
        return program.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Puts the fault in, which has to have a place there.
    func plant(_ fault: Fault, in file: String) throws {
        let path = deploy.appending(path: file)
        let text = try String(contentsOf: path, encoding: .utf8)
        guard let place = text.range(of: fault.old) else {
            throw Program.Trouble("\(file) has no '\(fault.old)'")
        }
        try text.replacingCharacters(in: place, with: fault.new)
            .write(to: path, atomically: true, encoding: .utf8)
    }

    /// What is wrong with the Compose file, or with the Dockerfile.
    func findings(_ kind: String) async throws -> [String] {
        let words = kind == "image" ? [deploy.path, Program.errand] : [deploy.path]
        let script = Self.simulators.appending(path: "deploy/deploy_check.py").path
        let program = try Program(try await Self.python(), ["-B", script, kind] + words)
        let end = try await program.end(within: .seconds(120))
        guard end == .exited(0) || end == .exited(1), program.errors.isEmpty else {
            throw Program.Trouble("deploy_check.py \(kind): \(end)\n\(program.errors)")
        }
        return program.output.split(separator: "\n").map(String.init)
    }

    /// Brings the Compose file up, takes these steps, and stops all; what was seen.
    func up(steps: [String]) async throws -> JSON {
        let secrets = try Program(deploy.appending(path: "compose/make-secrets").path, [])
        guard case .exited(0) = try await secrets.end(within: .seconds(60)) else {
            throw Program.Trouble(secrets.errors)
        }
        let engine = Self.simulators.appending(path: "deploy/compose_engine.py").path
        let scratch = folder.appending(path: "containers")
        let words =
            "unshare --net --mount --pid --fork --kill-child --mount-proc"
            .split(separator: " ").map(String.init)
        let program = try Program(
            "/usr/bin/env",
            words + [try await Self.python(), "-B", engine]
                + [deploy.appending(path: "compose.yaml").path]
                + ["--errand", URL(filePath: Program.errand).path, "--folder", scratch.path],
            input: steps.joined(separator: "\n"))
        guard case .exited(0) = try await program.end(within: .seconds(300)) else {
            throw Program.Trouble("the Compose file did not come up: \(program.errors)")
        }
        return try JSONDecoder().decode(JSON.self, from: Data(program.output.utf8))
    }
}
