import ErrandCommand

/// The shop's module: its table, its jobs, a schedule, a command, a check and a metric.
struct ShopModule: Module {
    let migrations = MigrationLine(
        module: "shop", files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    let commands = [OrderCommands.list]
    let nouns = ["order": "Show the orders of the shop"]
    let fieldNames: [FieldName] = [("confirmed_at", "when the order was confirmed")]

    func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        kinds.handle(ConfirmOrder.self) { job, context in try await job.run(context) }
        kinds.handle(SendReceipt.self) { job, context in try await job.run(context) }
    }

    func metrics(of context: ModuleContext) async throws -> [MetricFamily] {
        let counts = try await context.session.query(
            """
            SELECT count(*) FILTER (WHERE confirmed_at IS NULL), count(confirmed_at)
            FROM shop.orders
            """)
        var orders = MetricFamily("shop_orders", .gauge, "Orders by their state")
        orders.add(Int(try counts.int64(0, 0)), ("state", "placed"))
        orders.add(Int(try counts.int64(0, 1)), ("state", "confirmed"))
        return [orders]
    }

    func findings(of context: ModuleContext) async -> [Finding] {
        let late =
            "SELECT count(*) FROM shop.orders WHERE confirmed_at IS NULL "
            + "AND placed_at < now() - interval '1 hour'"
        guard let count = try? await context.session.query(late).int64(0, 0) else { return [] }
        return [
            Finding(
                check: "orders", severity: count == 0 ? .ok : .warning,
                message: "\(count) orders have been unconfirmed for more than an hour",
                remedy: count == 0 ? nil : "shop job ls --queue orders")
        ]
    }
}
