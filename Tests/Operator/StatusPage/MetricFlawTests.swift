import Testing

@testable import ErrandStatusPage

@Suite("What a metric may be called") struct MetricFlawTests {
    @Test(arguments: ["shop_orders", "a", "_x9", "Shop_Orders"])
    func `names of Prometheus are taken`(_ name: String) {
        var family = MetricFamily(name, .gauge, "")
        family.add(1, ("state", "new"))
        family.add(2, ("state", "old"), ("of", "x"))
        #expect(family.flaw == nil)
    }

    @Test(arguments: ["", "9a", "shop orders", "shop-orders", "é", "a\nb 1", "a{b=\"c\"}"])
    func `others are refused, of metrics and of labels`(_ name: String) {
        #expect(MetricFamily(name, .gauge, "", 1).flaw?.contains("'\(name)'") == true)
        var family = MetricFamily("shop_orders", .gauge, "")
        family.add(1, (name, "x"))
        #expect(family.flaw?.contains("label '\(name)' of the metric shop_orders") == true)
    }

    @Test func `two samples cannot have the same labels`() {
        var family = MetricFamily("shop_orders", .gauge, "")
        family.add(1, ("state", "new"))
        family.add(1, ("state", "new"))
        #expect(family.flaw?.contains("same labels") == true)
    }

    @Test func `a label stands once, and values are of the family's kind`() {
        var family = MetricFamily("shop_orders", .gauge, "")
        family.add(1, ("state", "new"), ("state", "old"))
        #expect(family.flaw?.contains("a duplicate label") == true)
        let distribution = MetricFamily.Distribution(buckets: [(1, 1)], count: 1, sum: 1)
        var gauge = MetricFamily("shop_waits", .gauge, "")
        gauge.add(distribution)
        #expect(gauge.flaw?.contains("only histograms") == true)
        #expect(MetricFamily("shop_waits", .histogram, "", 1).flaw?.contains("histograms") == true)
        var histogram = MetricFamily("shop_waits", .histogram, "")
        histogram.add(distribution, ("le", "1"))
        #expect(histogram.flaw?.contains("without a label le") == true)
        histogram = MetricFamily("shop_waits", .histogram, "")
        histogram.add(distribution, ("queue", "a"))
        #expect(histogram.flaw == nil)
    }
}
