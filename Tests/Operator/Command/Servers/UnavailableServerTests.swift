import ErrandCommand
import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Foundation
import Testing

extension CommandLine {
    /// "Exit 1 instead of 6 when PostgreSQL starts up or shuts down (57P03) …; a script that
    /// retries on 6 gives up".
    @Suite("Servers that are away") struct UnavailableServerTests {
        private static func server(_ state: String, _ severity: String = "ERROR") -> PostgresError {
            .server(ServerError(sqlState: state, severity: severity, message: "x"))
        }

        // Tables, not arguments of tests: each test case here has a database of its own.
        private static let states: [(state: String, code: Int32)] = [
            // Away: starting up, shutting down, crashed, or the connection failed.
            ("57P01", 6), ("57P02", 6), ("57P03", 6), ("57P04", 6), ("57P05", 6), ("08000", 6),
            ("08001", 6), ("08003", 6), ("08004", 6), ("08006", 6), ("08P01", 6), ("53300", 6),
            ("3D000", 6), ("28P01", 6), ("28000", 6),
            // There, with another answer.
            ("57014", 8), ("55P03", 8), ("53100", 1), ("25006", 5), ("42501", 5), ("42P01", 5),
            ("54000", 5), ("2201B", 2), ("23505", 1), ("40001", 1), ("XX000", 1), ("58030", 1),
            ("RU001", 5), ("RU002", 1),
        ]

        private static let redis: [(error: RedisError, code: Int32)] = [
            (.unreachable("x"), 6), (.refused("x"), 6), (.usage("x"), 2),
            (.server("LOADING Redis is loading the dataset in memory"), 6),
            (.server("MASTERDOWN Link with MASTER is down"), 6),
            (.server("READONLY You can't write against a read only replica."), 6),
            (.server("NOREPLICAS Not enough good replicas to write."), 6),
            (.server("CLUSTERDOWN The cluster is down"), 6),
            (.server("ERR max number of clients reached"), 6),
            (.server("BUSY Redis is busy running a script."), 1),
            (.server("OOM command not allowed"), 1), (.server("WRONGTYPE x"), 1),
        ]

        @Test func `the servers' errors become exit codes`() {
            for (state, code) in Self.states {
                for error in [Self.server(state), Self.server(state, "FATAL")] {
                    #expect(Failures.failure(of: error)?.exit.rawValue == code, "\(error)")
                }
            }
            for (error, code) in Self.redis {
                #expect(Failures.failure(of: error)?.exit.rawValue == code, "\(error)")
            }
        }

        @Test func `a lost connection is 6, also within a migration`() {
            let lost = PostgresError.unreachable("the server ended the connection")
            #expect(Failures.failure(of: lost)?.exit == .unreachable)
            let within = MigrationError.failed(
                module: "engine", file: "x", cause: Self.server("57P01"))
            #expect(Failures.failure(of: within)?.exit == .unreachable)
        }

        static let commands = [
            ["payout", "close"], ["ledger", "reverse", "1", "--reason", "x", "--yes"],
            ["enqueue", "demo.noop"], ["job", "ls"], ["coupon", "ls"], ["migrate", "status"],
            ["queue", "pause", "default", "--yes"], ["work", "--drain"],
        ]

        /// A PostgreSQL or Redis that refuses everybody with this.
        private func refuser(_ words: String...) async throws -> (
            program: ErrandTestServices.Program, port: String
        ) {
            let script = Checkout.root.appending(path: "Tests/Simulators/servers/refuser.py").path
            let program = try ErrandTestServices.Program(
                "/usr/bin/env", ["python3", script] + words)
            try await eventually("the refuser's port") { program.output.contains("\n") }
            return (program, program.output.trimmingCharacters(in: .newlines))
        }

        @Test func `PostgreSQL that starts up or shuts down`() async throws {
            for words in [
                "the database system is starting up", "the database system is shutting down",
                "the database system is not yet accepting connections",
            ] {
                let (program, port) = try await refuser("postgres", "57P03", words)
                defer { program.signal(SIGKILL) }
                let url = "postgresql://errand:sekret@127.0.0.1:\(port)/errand"
                for command in Self.commands {
                    let run = try await errand(command, environment: ["DATABASE_URL": url])
                    run.expect(6, words)
                    #expect(!run.errors.contains("sekret"))
                }
            }
        }

        @Test func `Redis that is loading`() async throws {
            let (program, port) = try await refuser(
                "redis", "LOADING Redis is loading the dataset in memory")
            defer { program.signal(SIGKILL) }
            for command in [["redis", "check"], ["work", "--drain"]] {
                try await errand(
                    command, environment: ["REDIS_URL": "redis://127.0.0.1:\(port)"]
                ).expect(6, "Redis is not available", "LOADING")
            }
        }
    }
}
