import Errand
import ErrandCommand

// The samples of docs/guides, so that they compile as they stand there.

private struct ReindexShop: Job {
    static let kind = "shop.reindex"
    var shopID: Int
}

private struct CountVisit: Job {
    static let kind = "visit.count"
}

private struct ShopModule: Module {
    let migrations = MigrationLine(module: "shop", files: [])
}

private func index(_ shops: [Int]) async throws -> Set<Int> { [] }

private func uniqueJobs(client: JobClient) async throws -> Enqueued {
    let result = try await client.enqueue(
        ReindexShop(shopID: 7), EnqueueOptions(unique: Unique("shop:7")))
    return result
}

private func batches(client: JobClient, kinds: inout JobKinds) async throws {
    try await client.enqueue((1...10_000).map { ReindexShop(shopID: $0) })
    kinds.handleBatch(ReindexShop.self, upTo: 100) { batch in
        let missing = try await index(batch.items.map(\.job.shopID))
        return batch.items.map { item in
            missing.contains(item.job.shopID) ? .discard(reason: "the shop was deleted") : .done
        }
    }
    kinds.handleBatch(CountVisit.self, upTo: 500) { batch in
        guard let first = batch.items.first else { return [] }
        try await first.context.database.transaction { transaction in
            try await transaction.query(
                "UPDATE visits SET count = count + $1", [.int64(Int64(batch.items.count))])
            try await batch.complete(batch.items, in: transaction)
        }
        return batch.items.map { _ in .done }
    }
}

private func schedules(_ kinds: inout JobKinds) throws {
    kinds.schedule(
        try Schedule(
            "shops.reindex", "30 9 * * MON-FRI", in: "America/Toronto", run: ReindexShop(shopID: 7),
            catchUp: .latest(), overlap: .skip))
}

func runUntilEmpty(_ kinds: JobKinds, servers: Servers) async throws -> WorkerSummary {
    var options = WorkerOptions(queues: [.init("default")])
    options.drain = true
    let worker = Worker(servers: servers, kinds: kinds, options: options, log: .silent)
    return try await worker.run()
}

struct SendInvoice: Job {
    static let kind = "invoice.send"
    static let isOpenToApps = true
    var invoiceID: Int64
}
