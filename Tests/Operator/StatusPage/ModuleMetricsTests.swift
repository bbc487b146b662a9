import Errand
import ErrandTestServices
import Synchronization
import Testing

@testable import ErrandStatusPage

@Suite("Metrics of others than the engine", .database) struct ModuleMetricsTests {
    private static func names(
        _ families: [MetricFamily], failure: String? = nil
    ) async throws -> (names: Set<String>, failures: Double?, warnings: [String]) {
        let lines = Mutex<[String]>([])
        let page = StatusPage(
            stats: WorkerStats(timeout: .seconds(20)), database: try TestDatabase.here().url,
            version: "1", others: { _ in (families, failure) },
            log: Log { line in lines.withLock { $0.append(line.message) } })
        let shown = await page.families()
        // Its counter is that of the readings before, and this one is not made anew so soon.
        let text = Exposition.prometheus.text(await page.families())
        let failures = text.split(separator: "\n")
            .first { $0.hasPrefix("errand_reading_failures_total ") }
            .flatMap { Double($0.split(separator: " ")[1]) }
        return (
            Set(shown.map(\.name)), failures,
            lines.withLock { $0 }.filter { $0.contains("left out") }
        )
    }

    @Test func `they stand beside the engine's`() async throws {
        let result = try await Self.names([MetricFamily("shop_orders", .gauge, "Orders", 2)])
        #expect(result.names.isSuperset(of: ["shop_orders", "errand_up", "errand_workers"]))
        #expect(result.failures == 0)
        #expect(result.warnings == [])
    }

    @Test func `what would spoil the page is left out, counted and told`() async throws {
        let result = try await Self.names([
            MetricFamily("shop orders", .gauge, "Orders", 2), MetricFamily("shop_x", .gauge, "", 1),
            MetricFamily("shop_x", .gauge, "", 2),
        ])
        #expect(result.names.contains("shop_x") && !result.names.contains("shop orders"))
        #expect(result.failures == 1)
        #expect(result.warnings.count == 1)
        #expect(result.warnings.first?.contains("'shop orders'") == true)
    }

    @Test func `what could not be read is counted and told`() async throws {
        let result = try await Self.names([], failure: "shop: the table is locked")
        #expect(result.failures == 1)
        #expect(result.warnings.first?.contains("shop: the table is locked") == true)
    }
}
