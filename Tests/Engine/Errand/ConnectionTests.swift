import ErrandPostgres
import ErrandTestServices
import Foundation
import Testing

@testable import Errand

/// How many connections workers open, and what they do when the server gives them no more.
@Suite("Connections of workers", .database) struct ConnectionTests {
    /// A handler that does all that needs connections.
    private struct Busy: Job {
        static let kind = "test.busy"
        static let options = JobOptions(maxAttempts: 1)
        var n: Int
    }

    private func kinds(
        _ done: Notebook<Int>, usesPool: Bool = true, isScheduled: Bool = true
    ) throws -> JobKinds {
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        kinds.handle(Busy.self) { job, context in
            try await context.once("effect") {}
            try await context.client.enqueue(Plain(n: job.n))
            if usesPool {
                try await context.database.transaction { transaction in
                    try await transaction.query("SELECT pg_sleep(0.002)")
                    try await context.complete(in: transaction)
                }
            }
            done.add(job.n)
        }
        if isScheduled {
            kinds.schedule(try Schedule("each-second", "@every 1s", run: Plain(n: -1)))
        }
        return kinds
    }

    /// The sessions of workers by name, without the workers' ids.
    private func sessions(_ ground: RulesGround) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for row in try await ground.session.query(
            """
            SELECT application_name FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'errand-%'
              AND application_name <> 'errand-test'
            """)
        {
            let name = try row.text(0)
            counts[String(name.prefix { $0 != " " }), default: 0] += 1
        }
        return counts
    }

    private func leaderCount(_ ground: RulesGround) async throws -> Int {
        try await ground.number("SELECT count(*) FROM errand.leaders l WHERE errand.is_led(l)")
    }

    @Test func `a busy worker with both roles has at most eight, one of several queues too`()
        async throws
    {
        let ground = try await RulesGround()
        let done = Notebook<Int>()
        let worker = try TestWorker(kinds(done), queues: [.init("default"), .init("other")])
        _ = try await worker.during {
            try await eventually("both roles") { try await leaderCount(ground) == 2 }
            let client = try await ground.client()
            _ = try await client.enqueue((0..<150).map { Busy(n: $0) })
            _ = try await client.enqueue((150..<200).map { Busy(n: $0) }, .init(queue: "other"))
            var most: [String: Int] = [:]
            try await eventually("all jobs done", within: .seconds(90)) {
                let now = try await sessions(ground)
                if now.values.reduce(0, +) >= most.values.reduce(0, +) { most = now }
                return done.count == 200
            }
            #expect(most.values.reduce(0, +) <= 8, "\(most)")
            #expect(most["errand-pool"] == 3)
        }
        #expect(Set(done.all).count == 200)
    }

    @Test func `workers that have become idle keep one each, besides those of the roles`()
        async throws
    {
        let ground = try await RulesGround()
        let done = Notebook<Int>()
        let kinds = try kinds(done)
        let workers = try (0..<20).map { number in
            try TestWorker(kinds, queues: [.init("q\(number)")]) {
                $0.idleTime = .milliseconds(300)
            }
        }
        try await withThrowingTaskGroup { group in
            for worker in workers { group.addTask { _ = try await worker.run() } }
            defer { for worker in workers { worker.stop.stop() } }
            let client = try await ground.client()
            for round in 0..<3 {
                for number in 0..<20 {
                    _ = try await client.enqueue(
                        (0..<5).map { Busy(n: round * 100 + number * 5 + $0) },
                        .init(queue: "q\(number)"))
                }
                try await eventually("round \(round)") { done.count == (round + 1) * 100 }
            }
            try await eventually("the connections of idle workers") {
                var now = try await sessions(ground)
                // The feeder borrows one every second.
                let pool = now.removeValue(forKey: "errand-pool") ?? 0
                return pool <= 1
                    && now == ["errand-heartbeat": 20, "errand-feed": 1, "errand-schedule": 1]
            }
            for worker in workers { worker.stop.stop() }
            try await group.waitForAll()
        }
        #expect(Set(done.all).count == 300)
    }

    @Test func `a worker with one connection on a full server claims, runs and completes`()
        async throws
    {
        let ground = try await RulesGround()
        let done = Notebook<Int>()
        let login = try await ground.database.login(as: "errand_worker")
        let url = ground.database.url.replacing("//errand@", with: "//\(login.name)@")
        // No job before the limit is set: a second one would get the worker a connection to claim.
        let leading = Worker(
            servers: Servers(database: url, redis: ground.database.redis),
            kinds: try kinds(done, isScheduled: false), options: WorkerOptions(), log: .silent)
        let warnings = Notebook<String>()
        let other = Worker(
            servers: Servers(database: url, redis: ground.database.redis),
            kinds: try kinds(done, usesPool: false, isScheduled: false),
            options: WorkerOptions(queues: [.init("other")]),
            log: Log(minimum: .warning) { warnings.add($0.message) })
        let stops = (Stop(), Stop())
        async let first = leading.run(until: stops.0)
        async let second: WorkerSummary = {
            // The first must have both roles, so that this one needs no connection for them.
            try await eventually("both roles") { try await leaderCount(ground) == 2 }
            return try await other.run(until: stops.1)
        }()
        defer {
            stops.0.stop()
            stops.1.stop()
        }
        try await eventually("the second worker") {
            try await sessions(ground)["errand-heartbeat"] == 2
        }
        let now = try await sessions(ground)
        #expect(now["errand-claim"] == nil && now["errand-finish"] == nil)
        let limit = now.values.reduce(0, +)
        try await ground.session.script("ALTER ROLE \(login.name) CONNECTION LIMIT \(limit)")
        let client = try await ground.client()
        for round in 0..<6 {
            let numbers = (0..<50).map { Busy(n: round * 50 + $0) }
            _ = try await client.enqueue(numbers, .init(queue: "other"))
            try await eventually("round \(round)") { done.count == (round + 1) * 50 }
        }
        #expect(try await sessions(ground)["errand-claim"] == nil)
        #expect(warnings.all.contains { $0.contains("continues over its reserved connection") })
        #expect(warnings.all.contains { $0.contains("CONNECTION LIMIT") })
        // With room it connects again.
        try await ground.session.script("ALTER ROLE \(login.name) CONNECTION LIMIT -1")
        var next = 300
        try await eventually("the connections that it needs") {
            _ = try await client.enqueue(Busy(n: next), .init(queue: "other"))
            next += 1
            let now = try await sessions(ground)
            return now["errand-claim"] != nil && now["errand-finish"] != nil
        }
        try await eventually("all jobs done") {
            try await ground.number("SELECT count(*) FROM errand.jobs WHERE kind = 'test.busy'")
                == 0
        }
        stops.0.stop()
        stops.1.stop()
        let summary = try await second
        _ = try await first
        #expect(done.count == next && Set(done.all).count == next)
        #expect(summary.completed == next && summary.failed == 0 && summary.fencedOff == 0)
    }

    @Test func `large arguments reach handlers, also those of batches and of limited queues`()
        async throws
    {
        let ground = try await RulesGround()
        _ = try await ground.session.query(
            "INSERT INTO errand.queues (name) VALUES ('limited')")
        _ = try await ground.session.query(
            "INSERT INTO errand.queue_limits (queue, running, set_by) VALUES ('limited', 2, 't')")
        var generator = SystemRandomNumberGenerator()
        let texts = (0..<40).map { number in
            // Some are stored small, some compress well, some do not.
            let length = number * number * 150
            return number % 2 == 0
                ? String(repeating: "é\(number)", count: length)
                : String(
                    decoding: (0..<length).map { _ in UInt8.random(in: 97...122, using: &generator)
                    },
                    as: UTF8.self)
        }
        let seen = Notebook<String>()
        var kinds = JobKinds()
        kinds.handle(Note.self) { note, _ in seen.add(note.text) }
        kinds.handleBatch(Collected.self, upTo: 30) { batch in
            for item in batch.items { seen.add(item.job.text) }
            return batch.items.map { _ in .done }
        }
        let client = try await ground.client()
        _ = try await client.enqueue(texts.map { Note(text: $0) })
        _ = try await client.enqueue(texts.map { Note(text: $0) }, .init(queue: "limited"))
        _ = try await client.enqueue(texts.map { Collected(text: $0) })
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE pg_column_size(args) > 8192") > 20)
        let summary = try await TestWorker.drain(
            kinds, queues: [.init("default"), .init("limited")])
        #expect(summary.completed == 120)
        #expect(seen.all.sorted() == (texts + texts + texts).sorted())
    }

    private struct Collected: Job {
        static let kind = "test.collected"
        var text: String
    }
}
