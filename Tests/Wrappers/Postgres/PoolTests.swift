import ErrandPostgres
import Synchronization
import ErrandTestServices
import Testing

@Suite("Pools", .database) struct PoolTests {
    /// Opens once, for any number of waiting tasks.
    private actor Gate {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func pass() async {
            guard !isOpen else { return }
            await withCheckedContinuation { waiting.append($0) }
        }

        func open() {
            isOpen = true
            for task in waiting { task.resume() }
            waiting = []
        }
    }

    private final class Usage: Sendable {
        private let counts = Mutex((now: 0, most: 0))
        var most: Int { counts.withLock(\.most) }
        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func end() { counts.withLock { $0.now -= 1 } }
    }

    @Test func `no more sessions than the limit are in use at once`() async throws {
        let pool = try TestDatabase.here().pool(3)
        let usage = Usage()
        let processes = Notebook<Int32>()
        try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    try await pool.withSession { session in
                        usage.begin()
                        defer { usage.end() }
                        let rows = try await session.query("SELECT pg_backend_pid()")
                        processes.add(try rows[0].int32(0))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(usage.most <= 3)
        #expect(processes.count == 40)
        #expect(Set(processes.all).count <= 3)
        await pool.close()
    }

    @Test func `those who wait are served in the order in which they came`() async throws {
        let pool = try TestDatabase.here().pool(1)
        let gate = Gate()
        let order = Notebook<Int>()
        let held = Notebook<Bool>()
        async let holder: Void = pool.withSession { _ in
            held.add(true)
            await gate.pass()
        }
        try await eventually("the only session is lent") { held.count == 1 }
        try await withThrowingTaskGroup { group in
            for number in 0..<5 {
                group.addTask { try await pool.withSession { _ in order.add(number) } }
                try await eventually("it waits") { pool.waitingCount == number + 1 }
            }
            await gate.open()
            try await group.waitForAll()
        }
        try await holder
        #expect(order.all == [0, 1, 2, 3, 4])
        await pool.close()
    }

    @Test func `a pool that lends another's sessions leaves it the rest`() async throws {
        let pool = try TestDatabase.here().pool(3)
        let shared = Pool(sharing: pool, limit: 2)
        let usage = Usage()
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    try await shared.withSession { session in
                        usage.begin()
                        defer { usage.end() }
                        _ = try await session.query("SELECT pg_sleep(0.001)")
                        // The rest is there, although all of these need it at once.
                        _ = try await pool.withSession { try await $0.query("SELECT 1") }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(usage.most <= 2)
        #expect(shared.lentCount == 0 && pool.lentCount == 0)
        await shared.close()
        await #expect(throws: PostgresError.self) { try await shared.withSession { _ in } }
        try await pool.withSession { _ in }
        await pool.close()
    }

    @Test func `with a full server, callers share the sessions that the pool has`() async throws {
        let database = try TestDatabase.here()
        let login = try await database.login(as: "errand_worker")
        try await database.session().script("ALTER ROLE \(login.name) CONNECTION LIMIT 1")
        let settings = SessionSettings(
            database.url.replacing("//errand@", with: "//\(login.name)@"), name: "full")
        let pool = Pool(settings, limit: 8)
        let done = Notebook<Int>()
        try await pool.withSession { _ in }
        try await withThrowingTaskGroup { group in
            for number in 0..<40 {
                group.addTask {
                    try await pool.withSession { session in
                        _ = try await session.query("SELECT pg_sleep(0.001)")
                        done.add(number)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(done.count == 40)
        await pool.close()
        // Without any session of its own it says so, to everyone who waits.
        try await login.session.connect()
        let failures = Notebook<String?>()
        let other = Pool(settings, limit: 2)
        await withTaskGroup { group in
            for _ in 0..<6 {
                group.addTask {
                    do { try await other.withSession { _ in } } catch {
                        failures.add((error as? PostgresError)?.sqlState)
                    }
                }
            }
        }
        #expect(failures.all == Array(repeating: "53300", count: 6))
        await other.close()
    }

    @Test func `one who is cancelled while waiting leaves the queue at once`() async throws {
        let pool = try TestDatabase.here().pool(1)
        try await pool.withSession { _ in
            let waiter = Task { try await pool.withSession { _ in "never" } }
            try await eventually("it waits") { pool.waitingCount == 1 }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            #expect(pool.waitingCount == 0)
            let late = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return try await pool.withSession { _ in "never" }
            }
            await #expect(throws: CancellationError.self) { try await late.value }
        }
        #expect(try await pool.withSession { _ in "next" } == "next")
        await pool.close()
    }

    @Test func `a session whose connection broke is lent again, connected anew`() async throws {
        let database = try TestDatabase.here()
        let pool = database.pool(1)
        let error = await failure {
            try await pool.withSession { session in
                let process = try await session.query("SELECT pg_backend_pid()")[0].int32(0)
                _ = try await session.query("SELECT pg_terminate_backend($1)", [.int32(process)])
            }
        }
        #expect(error?.isUnreachable == true)
        let one = try await pool.withSession { try await $0.query("SELECT 1::int8").int64(0, 0) }
        #expect(one == 1)
        await pool.close()
    }

    @Test func `sessions that are not needed any more are disconnected`() async throws {
        let database = try TestDatabase.here()
        let pool = Pool(
            SessionSettings(database.url, name: "pool-shrinking"), limit: 5,
            idleTime: .milliseconds(20))
        let gate = Gate()
        let connected =
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pool-shrinking'"
        let watch = database.session("pool-watch")
        try await withThrowingTaskGroup { group in
            for _ in 0..<5 {
                group.addTask {
                    try await pool.withSession { session in
                        _ = try await session.query("SELECT 1")
                        await gate.pass()
                    }
                }
            }
            try await eventually("five connections") {
                try await watch.query(connected).int64(0, 0) == 5
            }
            await gate.open()
            try await group.waitForAll()
        }
        try await eventually("none") { try await watch.query(connected).int64(0, 0) == 0 }
        let one = try await pool.withSession { try await $0.query("SELECT 1::int8").int64(0, 0) }
        #expect(one == 1)
        await pool.close()
        await watch.close()
    }

    @Test func `a closed pool turns away those who wait and those who come`() async throws {
        let pool = try TestDatabase.here().pool(1)
        try await pool.withSession { session in
            let waiter = Task { try await pool.withSession { _ in } }
            try await eventually("it waits") { pool.waitingCount == 1 }
            await pool.close()
            await #expect(throws: PostgresError.self) { try await waiter.value }
            #expect(try await session.query("SELECT 1::int8").int64(0, 0) == 1)
        }
        let error = await failure { try await pool.withSession { _ in } }
        #expect(error?.isUsage == true)
    }
}
