import Foundation
import Errand
import ErrandTestServices
import Testing

// The Swift sample of the README, so that it compiles as it stands there.

struct SendReceipt: Job {
    static let kind = "receipt.send"
    static let options = JobOptions(queue: "mail", maxAttempts: 8, timeout: .seconds(30))
    var orderID: Int64
}

private struct Report: Job {
    static let kind = "orders.report"
}

private func readmeSchedule(_ kinds: inout JobKinds) throws {
    kinds.schedule(
        try Schedule(
            "orders.report", "30 9 * * MON-FRI", in: "America/Toronto", run: Report(),
            catchUp: .latest(), overlap: .skip))
}

private func readmeExample() async throws {
    let database = "postgresql://localhost/shop"
    let redis = try RedisAddress(url: "redis://localhost:6379/0")
    let pool = Pool(SessionSettings(database, name: "shop"), limit: 8)

    let client = try await JobClient(pool: pool, redis: redis)
    try await client.enqueue(SendReceipt(orderID: 17), EnqueueOptions(in: .seconds(60)))
    try await pool.transaction { transaction in
        try await transaction.query("INSERT INTO orders (id) VALUES (18)")
        try await client.enqueue(SendReceipt(orderID: 18), in: transaction)  // only if the order is
    }

    // In the process that works:
    var kinds = JobKinds()
    kinds.handle(SendReceipt.self) { job, context in
        try await context.once("mail") { try await mail(receiptFor: job.orderID) }
        try await context.database.transaction { transaction in
            try await transaction.query(
                "UPDATE orders SET receipt_sent = true WHERE id = $1", [.int64(job.orderID)])
            // The write and the end of the job: both or neither.
            try await context.complete(in: transaction)
        }
    }
    let worker = Worker(
        servers: Servers(database: database, redis: redis), kinds: kinds,
        options: WorkerOptions(queues: [.init("mail", concurrency: 16)]),
        log: Log { entry in print(entry.message) })
    let stop = Stop()  // stop.stop(), from a signal handler say, ends the worker in order
    _ = try await worker.run(until: stop)
}

private func mail(receiptFor orderID: Int64) async throws {}

@Suite("README") struct ReadmeTests {
    @Test func `its Swift sample is the code of this file`() throws {
        // It compiles; it is not run, for its servers are not there.
        let _: () async throws -> Void = readmeExample
        let _: (inout JobKinds) throws -> Void = readmeSchedule
        let file = URL(filePath: #filePath)
        let sample = try Self.lines(of: Checkout.root.appending(path: "README.md"))
            .drop { $0 != "```swift" }.dropFirst().prefix { $0 != "```" }
        #expect(sample.count > 10)
        var rest = try Self.lines(of: file)[...]
        for line in sample {
            let place = try #require(rest.firstIndex(of: line), "\(line) is not here, or not next")
            rest = rest[(place + 1)...]
        }
    }

    /// Those that are not empty, without their indentation.
    private static func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
