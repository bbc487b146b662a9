import Foundation
import Glibc
import ErrandPostgres
import ErrandRedis
import Synchronization
import ErrandTestServices
import Testing

/// A migrated database for one test on servers that it may crash, and the `errand` processes that
/// it runs there.
final class CrashGround: Sendable {
    @TaskLocal private static var current: CrashGround?

    let name: String
    let place: CrashServers.Place
    let servers: CrashServers
    /// Its own sessions are named so, that they can be told from the workers'.
    let session: Session
    private let programs = Mutex<[Program]>([])
    private let files = Mutex<[URL]>([])

    init(name: String, place: CrashServers.Place, on servers: CrashServers) {
        self.name = name
        self.servers = servers
        self.place = place
        session = Session(
            SessionSettings(place.database, name: "crash-test", setup: ["SET TimeZone = 'UTC'"]))
    }

    static func here() throws -> CrashGround {
        guard let current else { throw Program.Trouble("this test needs the .crashing trait") }
        return current
    }

    static func use(_ ground: CrashGround, _ body: () async throws -> Void) async throws {
        defer { ground.clear() }
        try await $current.withValue(ground) { try await body() }
    }

    /// Deletes a file when the test ends.
    func remove(_ file: URL) { files.withLock { $0.append(file) } }

    private func clear() {
        for program in programs.withLock({ $0 }) where program.isRunning {
            program.signal(SIGKILL)
        }
        for file in files.withLock({ $0 }) { try? FileManager.default.removeItem(at: file) }
    }

    // MARK: The command

    /// Starts `errand` with these arguments.
    ///
    /// - Parameter host: the network namespace that it runs in, instead of the test's.
    func start(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        on host: String? = nil
    ) throws -> Program {
        // An empty variable counts as unset: nothing of the shell that runs the tests gets in.
        let own = [
            "DATABASE_URL": place.database, "REDIS_URL": place.redis, "ERRAND_QUEUES": "",
            "ERRAND_CONCURRENCY": "", "ERRAND_LEASE": "", "ERRAND_GRACE": "", "ERRAND_WINDOW": "",
            "ERRAND_LOG": "",
        ]
        // "ip netns exec" becomes the program: its number and its end are those of errand.
        let words = (host.map { ["/sbin/ip", "netns", "exec", $0] } ?? []) + [Program.errand]
        let program = try Program(
            words[0], words.dropFirst() + arguments, environment: own.merging(environment) { $1 },
            input: input)
        programs.withLock { $0.append(program) }
        return program
    }

    /// Starts a worker whose lease is short, so that its death is soon noticed.
    func worker(_ arguments: [String] = [], on host: String? = nil) throws -> Program {
        // Their handlers use the database.
        try start(
            ["work", "--lease", "2s", "--grace", "5s", "--handler-connections", "16"] + arguments,
            on: host)
    }

    /// A command that has to succeed.
    @discardableResult func done(_ arguments: String..., input: String? = nil) async throws
        -> String
    {
        let program = try start(arguments, input: input)
        guard try await program.end(within: .seconds(60)) == .exited(0) else {
            throw Program.Trouble("errand \(arguments): \(program.errors)")
        }
        return program.output
    }

    // MARK: What the database says

    func number(_ sql: String) async throws -> Int {
        Int(try await session.query(sql).int64(0, 0))
    }

    var ledgerCount: Int {
        get async throws { try await number("SELECT count(*) FROM errand.demo_ledger") }
    }

    /// Waits until so many jobs of the load have been done; tolerates a server that is away.
    func progress(to count: Int) async throws {
        try await eventually("\(count) jobs done", within: .seconds(90)) {
            (try? await ledgerCount) ?? 0 >= count
        }
    }

    /// Waits until no live job is left; those that wait for another attempt are told not to.
    func allDone(within limit: Duration = .seconds(90)) async throws {
        do {
            try await eventually("the end of all jobs", within: limit) {
                guard
                    let rows = try? await session.query(
                        """
                        WITH hurried AS (
                            UPDATE errand.jobs SET run_at = clock_timestamp()
                            WHERE claimed_by IS NULL AND run_at > clock_timestamp() + '1 s'
                        )
                        SELECT count(*) FROM errand.jobs
                        """)
                else { return false }
                return try rows.int64(0, 0) == 0
            }
        } catch {
            throw Program.Trouble("\(error)\n\(try await picture())")
        }
    }

    /// What stands in the way, for the report of a failure.
    private func picture() async throws -> String {
        var text = ""
        for row in try await session.query(
            """
            SELECT row_to_json(j)::text FROM (
                SELECT id, kind, run_at, attempt, claimed_by, errors -> -1 AS last_error
                FROM errand.jobs ORDER BY id LIMIT 5) j
            UNION ALL SELECT row_to_json(w)::text FROM (
                SELECT id, pid, last_seen_at FROM errand.workers) w
            UNION ALL SELECT row_to_json(a)::text FROM (
                SELECT pid, application_name, state, wait_event, left(query, 80) AS query
                FROM pg_stat_activity WHERE datname = current_database()) a
            """)
        {
            text += try row.text(0) + "\n"
        }
        for program in programs.withLock({ $0 }) {
            text += "process \(program.id) running: \(program.isRunning)\n"
            text += program.errors.suffix(1_500) + "\n"
        }
        return text
    }

    /// Not all of the load has been done, so that what has just gone wrong met a worker at work.
    func expectUnfinished(_ count: Int, at place: SourceLocation = #_sourceLocation) async throws {
        let done = try await ledgerCount
        #expect(done < count, "the load was done before the fault", sourceLocation: place)
    }

    /// Every job of the load is in the ledger once, and nothing is left claimed.
    func expectExactlyOnce(_ count: Int) async throws {
        let ledger = try await session.query(
            "SELECT count(*), count(DISTINCT job_id) FROM errand.demo_ledger")
        #expect(try ledger.int64(0, 0) == Int64(count), "rows in the ledger")
        #expect(try ledger.int64(0, 1) == Int64(count), "different jobs in the ledger")
        let finished = try await session.query(
            """
            SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE outcome = 'completed')
            FROM errand.finished_jobs WHERE kind = 'demo.ledger'
            """)
        for column in 0..<3 { #expect(try finished.int64(0, column) == Int64(count)) }
        try await expectNothingClaimed()
    }

    func expectNothingClaimed() async throws {
        #expect(
            try await number("SELECT count(*) FROM errand.jobs WHERE claimed_by IS NOT NULL") == 0)
    }

    /// Waits until a worker or scheduler is up: before, it ends when its servers go away, and a
    /// signal ends it as it ends any program.
    func up(_ worker: Program) async throws {
        try await eventually("the worker is up") {
            !worker.isRunning || worker.errors.contains("working ")
                || worker.errors.contains("running schedules with")
        }
    }

    /// Asks a worker to end; it has to do so by itself, with success.
    func expectCleanStop(_ worker: Program) async throws {
        try await up(worker)
        worker.signal(SIGTERM)
        let end = try await worker.end(within: .seconds(20))
        #expect(end == .exited(0), "\(worker.errors.suffix(2_000))")
    }
}

/// Gives each test of a suite its own ``CrashGround``.
struct CrashingTrait: SuiteTrait, TestTrait, TestScoping {
    let servers: CrashServers
    let isRecursive = true

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let (name, place) = try await servers.migratedDatabase()
        let ground = CrashGround(name: name, place: place, on: servers)
        try await CrashGround.use(ground) { try await function() }
    }
}

extension Trait where Self == CrashingTrait {
    /// A database of its own for each test, on servers that the test may crash.
    static func crashing(_ servers: CrashServers) -> Self { Self(servers: servers) }
}
