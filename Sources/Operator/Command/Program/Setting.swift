import ErrandJSONText
import Dispatch
import FoundationEssentials
import Errand
public import ErrandPostgres
package import ErrandRedis
public import ErrandTerminal

extension Invocation {
    /// A session for one command: a statement times out after `--command-timeout`, or a minute.
    ///
    /// - Throws: `CommandFailure` (usage) if no database is given.
    public func session() throws -> Session {
        let limit = self[GlobalOptions.commandTimeout]
        // A server that receives no cancel request ends the statement by itself soon after.
        // PostgreSQL counts milliseconds in 32 bits.
        let longest = min(limit.map { $0 + .seconds(1) } ?? .seconds(60), .seconds(20 * 86_400))
        let milliseconds = Int(longest / .milliseconds(1))
        var settings = try settings(setup: ["SET statement_timeout = \(milliseconds)"])
        settings.timeLimit = max(settings.timeLimit, longest + .seconds(30))
        return kept(Session(settings))
    }

    /// A session for long statements, without a statement timeout.
    package func unlimitedSession() throws -> Session {
        var settings = try settings()
        settings.timeLimit = .seconds(7 * 86_400)
        return kept(Session(settings))
    }

    /// A pool of such sessions.
    package func patientPool(_ limit: Int) throws -> Pool {
        var settings = try settings()
        settings.timeLimit = .seconds(7 * 86_400)
        return Pool(settings, limit: limit) { [self] in kept($0) }
    }

    /// A read-only session with short statement and lock timeouts.
    ///
    /// - Throws: `CommandFailure` (usage) if no database is given.
    public func readOnlySession() throws -> Session {
        let setup = ["SET statement_timeout = '5s'", "SET lock_timeout = '1s'"]
        return kept(Session(try settings("errand-look", setup: setup, isReadOnly: true)))
    }

    /// A pool of one session, for functions that need a pool.
    package func pool() throws -> Pool { Pool(try settings(), limit: 1) { [self] in kept($0) } }

    /// The settings of every session of the command line.
    private func settings(
        _ name: String = "errand-cli", setup: [String] = [], isReadOnly: Bool = false
    ) throws -> SessionSettings {
        let isReadOnly = isReadOnly || self[GlobalOptions.readOnly]
        var settings = SessionSettings(
            try databaseURL(), name: name,
            setup: ["SET TimeZone = 'UTC'"]
                + (isReadOnly ? ["SET default_transaction_read_only = on"] : []) + setup)
        settings.pooling = try pooling
        return settings
    }

    /// The pooler between this program and PostgreSQL, from `ERRAND_POOLER`.
    package var pooling: Pooling {
        get throws(CommandFailure) {
            guard let name = environment["ERRAND_POOLER"], !name.isEmpty else { return .detected }
            guard let pooling = Pooling(rawValue: name) else {
                throw CommandFailure(
                    exit: .usage, message: "ERRAND_POOLER=\(name): unknown pooler",
                    hint: "expected session (also without a pooler), transaction, or detected "
                        + "(default)")
            }
            return pooling
        }
    }

    /// The servers of a worker.
    package func servers() throws -> Servers {
        var servers = Servers(database: try databaseURL(), redis: try redisAddress())
        servers.pooling = try pooling
        return servers
    }

    /// The session; its statements are cancelled on the server if the command is interrupted.
    @discardableResult
    private func kept(_ session: Session) -> Session {
        interruption.onStop { [weak session] in
            guard let session else { return }
            // Not here: it opens a connection.
            DispatchQueue.global().async { session.cancelCurrent() }
        }
        return session
    }

    /// The address of Redis.
    package func redisAddress() throws -> RedisAddress { try RedisAddress(url: redisURL()) }

    /// A client for commands that enqueue; it notifies the workers immediately.
    package func client() async throws -> JobClient {
        let pool = Pool(try settings(), limit: 2) { [self] in kept($0) }
        return try await JobClient(pool: pool, redis: redisAddress(), log: try log)
    }

    /// The operator's name, for the audit log.
    package var operatorName: String {
        environment["ERRAND_OPERATOR"] ?? environment["USER"] ?? environment["LOGNAME"]
            ?? "unknown"
    }

    /// The minimum level of log lines.
    private var logLevel: Log.Level {
        get throws(CommandFailure) {
            guard let name = environment["ERRAND_LOG"], !name.isEmpty else { return .info }
            let names = Log.Level.allCases.map { "\($0)" }
            if let index = names.firstIndex(of: name) { return Log.Level.allCases[index] }
            let guess = nearest(to: name, among: names).map { "did you mean \($0)? " } ?? ""
            throw CommandFailure(
                exit: .usage, message: "ERRAND_LOG=\(name): unknown level",
                hint: guess + "levels: \(names.joined(separator: ", "))")
        }
    }

    /// The log, which writes one line per event to standard error: text on a terminal, otherwise
    /// JSON, unless ERRAND_LOG_FORMAT is set.
    ///
    /// - Throws: `CommandFailure` (usage) for an invalid ERRAND_LOG or ERRAND_LOG_FORMAT.
    package var log: Log {
        get throws {
            let level = try logLevel
            let asText = try LogFormat.given(environment).map { $0 == .text }
            return log(from: level, asText: asText ?? output.screen.errorIsTerminal)
        }
    }

    private func log(from level: Log.Level, asText: Bool) -> Log {
        let (screen, times, program) = (output.screen, output.times, output.program)
        return Log(minimum: level) { entry in
            var entry = entry
            entry.message = program.inserted(in: entry.message)
            let now = Date()
            if asText {
                let fields = entry.fields.map { " \($0.name)=\($0.value)" }.joined()
                screen.writeError(
                    line: "\(times.text(now)) \(entry.level) \(entry.message)\(fields)")
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

extension Instant {
    /// The cell of a record.
    package var cell: Cell { .time(date) }

    /// Reads RFC 3339, without PostgreSQL's infinities, which `init(_:)` accepts.
    package init?(finite text: String) {
        guard let instant = Instant(text), instant != .infinity, instant != .negativeInfinity else {
            return nil
        }
        self = instant
    }
}
