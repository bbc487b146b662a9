import ErrandPostgres
import ErrandRedis
import ErrandTestServices
import Foundation
import Testing

@testable import ErrandCommand

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
                    #expect(describe(error)?.exit.rawValue == code, "\(error)")
                }
            }
            for (error, code) in Self.redis {
                #expect(describe(error)?.exit.rawValue == code, "\(error)")
            }
        }

        @Test func `a lost connection is 6, also within a migration`() {
            let lost = PostgresError.unreachable("the server ended the connection")
            #expect(describe(lost)?.exit == .unreachable)
            let within = MigrationError.failed(
                module: "engine", file: "x", cause: Self.server("57P01"))
            #expect(describe(within)?.exit == .unreachable)
        }

        /// SQLSTATEs of the classes 08 and 53 to 58, also by their names.
        private static let away = """
            ERRCODE = '(08|5[3-8]|connection_|too_many_|insufficient_resources|disk_full\
            |out_of_memory|configuration_limit|program_limit|statement_too_complex\
            |object_not_in_prerequisite_state|object_in_use|cant_change_runtime_param\
            |lock_not_available|operator_intervention|query_canceled|admin_shutdown\
            |crash_shutdown|cannot_connect_now|database_dropped|system_error|io_error)
            """

        // "Household's business refusals have SQLSTATE 55000": "psycopg makes that class an
        // `OperationalError`, which pools and retry wrappers take for a dead server".
        @Test func `refusals have an SQLSTATE that no driver takes for a dead server`()
            async throws
        {
            let session = try TestDatabase.here().session()
            let raising = try await session.query(
                """
                SELECT p.oid::regprocedure::text FROM pg_proc p
                JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname IN (SELECT m.name FROM errand.modules m UNION SELECT 'errand')
                    AND p.prosrc ~ $1
                """, [.text(Self.away)]
            ).map { try $0.text(0) }
            #expect(raising == [])
            _ = try await session.query("SELECT people.put_person(1)")
            do throws(PostgresError) {
                _ = try await session.query("SELECT household.leave(1)")
                Issue.record("left no group")
            } catch {
                guard case .server(let refused) = error else { throw error }
                #expect(refused.sqlState == "RU001" && refused.detail == "no_group")
                #expect(!error.isTransient)
            }
            await session.close()
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
