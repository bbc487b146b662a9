import ErrandStatusPage
import Testing

@Suite("Exposition of metrics") struct ExpositionTests {
    @Test(
        arguments: [
            ("", Exposition.prometheus), ("*/*", .prometheus), ("text/html", .prometheus),
            ("application/openmetrics-text", .openMetrics),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
            ("application/openmetrics-text;version=0.0.1", .prometheus),
            // Prometheus 2.42 and 3.0.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                    + "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                .openMetrics
            ),
            ("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.3", .prometheus),
            ("application/openmetrics-text;q=0", .prometheus),
            ("APPLICATION/OpenMetrics-Text", .openMetrics),
            (",;=,application/openmetrics-text;q=x", .prometheus),
        ])
    func `a client gets the form that it prefers`(accept: String, form: Exposition) {
        #expect(Exposition(accept: accept) == form)
    }

    private static var families: [MetricFamily] {
        var jobs = MetricFamily("jobs", .counter, "Jobs \"done\"\nand \\ so on")
        jobs.add(3, ("queue", "a\"b\\c\nd"), ("kind", "é"))
        jobs.add(1e20, ("queue", "b"), ("kind", ""))
        var waits = MetricFamily("wait_seconds", .histogram, "Waits")
        waits.add(
            .init(buckets: [(0.0016, 1), (1.6384, 2)], count: 4, sum: 7.25), ("queue", "a"))
        var build = MetricFamily("build", .info, "Build")
        build.add(1, ("version", "1"))
        return [
            jobs, waits, build, MetricFamily("none", .gauge, "Without samples"),
            MetricFamily("odd", .gauge, "Odd", -.infinity),
        ]
    }

    @Test func `the text format of Prometheus`() {
        #expect(
            Exposition.prometheus.text(Self.families) == #"""
                # HELP jobs_total Jobs "done"\nand \\ so on
                # TYPE jobs_total counter
                jobs_total{queue="a\"b\\c\nd",kind="é"} 3
                jobs_total{queue="b",kind=""} 1e+20
                # HELP wait_seconds Waits
                # TYPE wait_seconds histogram
                wait_seconds_bucket{queue="a",le="0.0016"} 1
                wait_seconds_bucket{queue="a",le="1.6384"} 2
                wait_seconds_bucket{queue="a",le="+Inf"} 4
                wait_seconds_sum{queue="a"} 7.25
                wait_seconds_count{queue="a"} 4
                # HELP build_info Build
                # TYPE build_info gauge
                build_info{version="1"} 1
                # HELP odd Odd
                # TYPE odd gauge
                odd -Inf

                """#)
    }

    @Test func `OpenMetrics names counters without their suffix, and has an end`() {
        let text = Exposition.openMetrics.text(Self.families)
        #expect(text.hasPrefix("# HELP jobs Jobs \\\"done\\\"\\nand"))
        #expect(text.contains("# TYPE jobs counter\njobs_total{"))
        #expect(text.contains("# TYPE build info\nbuild_info{version=\"1\"} 1\n"))
        #expect(text.hasSuffix("odd -Inf\n# EOF\n"))
        #expect(Exposition.openMetrics.text([]) == "# EOF\n")
    }
}
