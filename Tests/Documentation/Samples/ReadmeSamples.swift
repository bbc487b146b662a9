// The Swift sample of the README, so that it compiles as it stands there; ReadmeTests runs it.

import Errand

struct SendReceipt: Job {
    static let kind = "receipt.send"
    static let options = JobOptions(queue: "mail", maxAttempts: 8, timeout: .seconds(30))
    var orderID: Int64
}

func placeOrder(_ id: Int64, pool: Pool, client: JobClient) async throws {
    try await pool.transaction { transaction in
        try await transaction.query("INSERT INTO orders (id) VALUES ($1)", [.int64(id)])
        try await client.enqueue(SendReceipt(orderID: id), in: transaction)
    }
}

func runWorker(database: String, redis: String, until stop: Stop = .onTermination()) async throws {
    let servers = Servers(database: database, redis: try RedisAddress(url: redis))
    let pool = Pool(SessionSettings(database, name: "shop"), limit: 8)
    try await Migrator(pool).migrate()
    var kinds = JobKinds()
    kinds.handle(SendReceipt.self) { job, context in
        try await context.once("mail") { try await mail(receiptFor: job.orderID) }
        try await context.database.transaction { transaction in
            try await transaction.query(
                "UPDATE orders SET receipt_sent = true WHERE id = $1", [.int64(job.orderID)])
            // The update and the completion of the job commit together.
            try await context.complete(in: transaction)
        }
    }
    let worker = Worker(
        servers: servers, kinds: kinds,
        options: WorkerOptions(queues: [.init("mail", concurrency: 16)]),
        log: Log { entry in print(entry.level, entry.message) })
    // Returns after SIGTERM, when the running jobs have finished or their grace is over.
    _ = try await worker.run(until: stop)
}

/// Where the sample's mails go.
actor Mails {
    static let shared = Mails()
    private(set) var receipts: [Int64] = []

    func send(_ orderID: Int64) { receipts.append(orderID) }
}

func mail(receiptFor orderID: Int64) async throws { await Mails.shared.send(orderID) }
