import Errand
import Foundation

// The samples of the articles in Errand.docc, so that they compile as they stand there.

struct ResizePhoto: Job {
    static let kind = "photo.resize"
    static let options = JobOptions(queue: "photos", maxAttempts: 5, timeout: .seconds(60))
    var photoID: Int64
    var width: Int
}

private struct PayInvoice: Job {
    static let kind = "invoice.pay"
    var invoiceID: Int64
}

private struct DailyReport: Job {
    static let kind = "orders.report"
}

private struct Photo {}

private func load(_ id: Int64) async throws -> Photo? { Photo() }
private func resize(_ photo: Photo, to width: Int) async throws {}
private func charge(_ id: Int64, idempotencyKey: String) async throws -> String { "" }
private func writeReport(for day: Date) async throws {}

private func gettingStarted(pool: Pool, redis: RedisAddress, database: String) async throws {
    try await Migrator(pool).migrate()
    let client = try await JobClient(pool: pool, redis: redis)
    try await pool.transaction { transaction in
        try await transaction.query("INSERT INTO photos (id) VALUES ($1)", [.int64(17)])
        try await client.enqueue(ResizePhoto(photoID: 17, width: 640), in: transaction)
    }
    var kinds = JobKinds()
    kinds.handleWithOutcome(ResizePhoto.self) { job, context in
        guard let photo = try await load(job.photoID) else {
            return .discard(reason: "the photo was deleted")
        }
        try await resize(photo, to: job.width)
        return .done
    }
    let worker = Worker(
        servers: Servers(database: database, redis: redis), kinds: kinds,
        options: WorkerOptions(queues: [.init("photos", concurrency: 8)]),
        log: Log { entry in print(entry.level, entry.message) })
    _ = try await worker.run(until: .onTermination())
}

private func guarantees(_ kinds: inout JobKinds) {
    kinds.handle(PayInvoice.self) { job, context in
        let receipt = try await context.once("charge") {
            try await charge(job.invoiceID, idempotencyKey: context.idempotencyKey)
        }
        try await context.database.transaction { transaction in
            try await transaction.query(
                "UPDATE invoices SET receipt = $1 WHERE id = $2",
                [.text(receipt), .int64(job.invoiceID)])
            try await context.complete(in: transaction)
        }
    }
}

private func schedules(_ kinds: inout JobKinds) throws {
    kinds.schedule(
        try Schedule(
            "orders.report", "30 9 * * MON-FRI", in: "America/Toronto", run: DailyReport(),
            catchUp: .latest(), overlap: .skip))
    kinds.handle(DailyReport.self) { _, context in
        let day = context.occurrence?.due ?? context.now
        try await writeReport(for: day)
    }
}

func runAllJobs(_ kinds: JobKinds, servers: Servers) async throws -> WorkerSummary {
    var options = WorkerOptions(queues: [.init("photos")])
    options.drain = true
    let worker = Worker(servers: servers, kinds: kinds, options: options, log: .silent)
    return try await worker.run()
}

private func testing(client: JobClient, kinds: JobKinds, servers: Servers) async throws {
    try await client.enqueue(ResizePhoto(photoID: 17, width: 640))
    let summary = try await runAllJobs(kinds, servers: servers)
    assert(summary.completed == 1 && summary.dead == 0)
}
