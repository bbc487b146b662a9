import ErrandCommand

/// The commands for orders.
enum OrderCommands {
    static let list = Command(
        "order", "ls", effect: .read, summary: "List the orders, the newest first",
        examples: [.init("shop order ls", "the latest orders")]
    ) { invocation in
        let session = try invocation.readOnlySession()
        let orders = try await session.query(
            "SELECT id, placed_at, confirmed_at FROM shop.orders ORDER BY id DESC LIMIT 50")
        try invocation.output.list(
            try orders.map { order in
                Record([
                    ("id", .id(Int(try order.int64("id")))),
                    ("placed_at", .time(try order.timestamp("placed_at").date)),
                    (
                        "confirmed_at",
                        .optional(try order.optionalTimestamp("confirmed_at")) { .time($0.date) }
                    ),
                ])
            }, empty: "no orders")
        return .done
    }
}
