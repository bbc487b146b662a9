import ErrandPostgres
import ErrandTestServices
import Foundation
import Synchronization
import Testing

extension CrashTests {
    /// "Exit 1 instead of 6 when PostgreSQL starts up or shuts down during `payout close` /
    /// `ledger reverse` (6 of 10 failures during crashes were 1)".
    @Suite("Exit codes") struct ExitCodeTests {
        static let commands = [
            ["payout", "close", "--yes"], ["ledger", "reverse", "1", "--reason", "x", "--yes"],
            ["enqueue", "demo.noop"], ["coupon", "ls"], ["job", "ls"],
        ]

        /// The exit codes so far of commands that run again and again until they are stopped.
        private final class Tries: Sendable {
            private let state = Mutex<(codes: [Int32], goesOn: Bool)>(([], true))

            var codes: [Int32] { state.withLock { $0.codes } }
            var goOn: Bool { state.withLock { $0.goesOn } }
            func add(_ code: Int32) { state.withLock { $0.codes.append(code) } }
            func stop() { state.withLock { $0.goesOn = false } }
        }

        /// Runs a command to its end; returns its exit code.
        private static func code(_ ground: CrashGround, _ command: [String]) async throws -> Int32 {
            let program = try ground.start(command)
            let end = try await program.end(within: .seconds(60))
            guard case .exited(let code) = end else {
                throw Program.Trouble("errand \(command): \(end)\n\(program.errors)")
            }
            return code
        }

        @Test(.timeLimit(.minutes(4)))
        func `6 while PostgreSQL crashes and starts again, whatever the command`() async throws {
            let ground = try CrashGround.here()
            var answers: [[String]: Int32] = [:]
            for command in Self.commands { answers[command] = try await Self.code(ground, command) }
            // What each answers while the server is there: an empty quarter, no such transaction.
            let calm = answers
            let tries = Tries()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for command in Self.commands {
                    // A quarter may be closed by a run of which the answer was lost.
                    let allowed = [6, calm[command], command[0] == "payout" ? 4 : nil]
                    group.addTask {
                        while tries.goOn {
                            let code = try await Self.code(ground, command)
                            tries.add(code)
                            #expect(allowed.contains(code), "\(command)")
                        }
                    }
                }
                for step in Array(repeating: ["crash-postgres", "start-postgres"], count: 3)
                    .joined()
                {
                    let count = tries.codes.count
                    try await CrashServers.here().run(step)
                    try await eventually("commands after \(step)", within: .seconds(60)) {
                        tries.codes.count > count + Self.commands.count
                    }
                }
                tries.stop()
                try await group.waitForAll()
            }
            #expect(tries.codes.contains(6))
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["crash-postgres", "restart-postgres"])
        func `6 in the middle of a command`(step: String) async throws {
            let ground = try CrashGround.here()
            // Holds the command up.
            try await ground.session.script("BEGIN; LOCK TABLE errand.queues")
            let command = try ground.start(["queue", "pause", "default", "--yes"])
            let watcher = Session(SessionSettings(ground.place.database, name: "crash-watch"))
            try await eventually("the command to wait for the lock") {
                try await watcher.query(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted"
                ).int64(0, 0) > 0
            }
            await watcher.close()
            try await CrashServers.here().run(step)
            #expect(try await command.end(within: .seconds(60)) == .exited(6), "\(command.errors)")
            if step == "crash-postgres" { try await CrashServers.here().run("start-postgres") }
        }
    }
}
