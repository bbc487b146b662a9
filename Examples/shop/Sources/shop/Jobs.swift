import ErrandCommand

/// Confirms an order: the update of the order and the completion of the job are one transaction.
struct ConfirmOrder: Job {
    static let kind = "order.confirm"
    static let options = JobOptions(queue: "orders", maxAttempts: 5)
    var orderID: Int64

    func run(_ context: JobContext) async throws {
        try await context.database.transaction { transaction in
            try await transaction.query(
                """
                UPDATE shop.orders SET confirmed_at = now() WHERE id = $1 AND confirmed_at IS NULL
                """,
                [.int64(orderID)])
            try await context.client.enqueue(SendReceipt(orderID: orderID), in: transaction)
            try await context.complete(in: transaction)
        }
    }
}

/// Sends the receipt of an order once, even if the job runs again.
struct SendReceipt: Job {
    static let kind = "receipt.send"
    static let options = JobOptions(queue: "orders", maxAttempts: 8, timeout: .seconds(30))
    var orderID: Int64

    func run(_ context: JobContext) async throws {
        try await context.once("mail") {
            // Send the mail here, and pass context.idempotencyKey to its provider.
            context.log.with("order", Int(orderID)).info("the receipt is sent")
        }
    }
}
