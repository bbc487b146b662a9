import Coupons
import FoundationEssentials
import JobQueue
import Notifications
import Postgres
import Redis
import Terminal

extension Invocation {
    /// A session for one command.
    func session() throws -> Session {
        Session(
            SessionSettings(
                try databaseURL(), name: "errand-cli",
                setup: ["SET TimeZone = 'UTC'", "SET statement_timeout = '60s'"]))
    }

    /// Where Redis is.
    func redisAddress() throws -> RedisAddress { try RedisAddress(url: redisURL()) }

    /// A client for commands that enqueue; the workers are told at once.
    func client() async throws -> JobClient {
        let pool = Pool(
            SessionSettings(
                try databaseURL(), name: "errand-cli", setup: ["SET TimeZone = 'UTC'"]),
            limit: 2)
        return try await JobClient(pool: pool, redis: redisAddress(), log: log)
    }

    /// Who acts, for the record.
    var operatorName: String {
        environment["ERRAND_OPERATOR"] ?? environment["USER"] ?? environment["LOGNAME"]
            ?? "unknown"
    }

    /// Writes a line an event to standard error: for people on a terminal, as JSON elsewhere.
    var log: Log {
        let screen = output.screen
        let asText = screen.errorIsTerminal
        let level = environment["ERRAND_LOG"].flatMap { name in
            Log.Level.allCases.first { "\($0)" == name }
        }
        return Log(minimum: level ?? .info) { entry in
            let now = Date()
            if asText {
                let fields = entry.fields.map { " \($0.name)=\($0.value)" }.joined()
                screen.writeError(
                    line: "\(HumanFormat.time(now)) \(entry.level) \(entry.message)\(fields)")
                return
            }
            var record = Record([
                ("at", .time(now)), ("level", .text("\(entry.level)")),
                ("message", .text(entry.message)),
            ])
            for field in entry.fields {
                record.append(field.name, Int(field.value).map(Cell.id) ?? .text(field.value))
            }
            screen.writeError(line: String(decoding: record.json.serialized, as: UTF8.self))
        }
    }
}

/// The kinds of job that this program can run.
enum Kinds {
    /// All of them, for a worker.
    static func all() -> JobKinds {
        var kinds = JobKinds()
        DemoKinds.add(to: &kinds)
        return kinds
    }

    /// All of them, with what their handlers need from the environment.
    static func forWork(_ invocation: Invocation) throws -> JobKinds { all() }
}

extension Instant {
    /// For a record.
    var cell: Cell { .time(date) }
}
