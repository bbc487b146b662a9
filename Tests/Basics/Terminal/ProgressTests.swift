import ErrandTerminal
import Testing

@Suite("Progress") struct ProgressTests {
    private static func line(
        _ done: Int, of total: Int?, after elapsed: Duration, width: Int?
    ) -> String {
        Progress(label: "enqueued", done: done, total: total, elapsed: elapsed).line(width: width)
    }

    @Test(
        "off a terminal a line has count, rate, share and time left",
        arguments: [
            (0, 100, .zero, "enqueued 0 of 100 (0 %)  0.0/s"),
            (
                45_000, 100_000, .seconds(3),
                "enqueued 45,000 of 100,000 (45 %)  15,000/s  3.7 s left"
            ),
            (
                99_999, 100_000, .seconds(10),
                "enqueued 99,999 of 100,000 (99 %)  10,000/s  100 µs left"
            ),
            (100, 100, .seconds(4), "enqueued 100 of 100 (100 %)  25/s  4.0 s"),
            (0, 0, .seconds(1), "enqueued 0 of 0 (100 %)  0.0/s  1.0 s"),
            (1500, nil, .seconds(75), "enqueued 1,500  20/s  1 m 15 s"),
        ] as [(Int, Int?, Duration, String)])
    func plain(done: Int, total: Int?, elapsed: Duration, expected: String) {
        #expect(Self.line(done, of: total, after: elapsed, width: nil) == expected)
    }

    @Test("on a terminal a bar fills the room, and the line never wraps", arguments: 10...200)
    func bar(width: Int) {
        for done in [0, 1, 499, 500, 1000] {
            let line = Self.line(done, of: 1000, after: .seconds(2), width: width)
            #expect(DisplayWidth.of(line) < width)
        }
    }

    @Test func `the bar shows the share that is done`() {
        func cells(_ done: Int) -> String {
            String(
                Self.line(done, of: 1000, after: .seconds(2), width: 120).prefix { $0 != "]" }
                    .dropFirst())
        }
        #expect(cells(0) == ">" + String(repeating: " ", count: 39))
        #expect(
            cells(500) == String(repeating: "=", count: 20) + ">"
                + String(repeating: " ", count: 19))
        #expect(cells(1000) == String(repeating: "=", count: 40))
    }

    @Test func `off a terminal a line comes every five seconds at most, and at the end`()
        async throws
    {
        let lines = try Streams.captureError(isQuiet: false) { output in
            let start = ContinuousClock().now
            let bar = ProgressBar("done", total: 200, output: output, now: start)
            for second in 0...12 { bar.update(done: second, now: start + .seconds(second)) }
            bar.finish(done: 13, now: start + .seconds(13))
            bar.finish(done: 14, now: start + .seconds(14))
            bar.update(done: 15, now: start + .seconds(60))
        }
        #expect(
            lines == [
                "done 5 of 200 (2 %)  1.0/s  3 m 15 s left",
                "done 10 of 200 (5 %)  1.0/s  3 m 10 s left",
                "done 13 of 200 (6 %)  1.0/s  3 m 07 s left",
            ])
    }

    @Test func `with quiet there is no progress and no note, but warnings remain`() throws {
        let lines = try Streams.captureError(isQuiet: true) { output in
            let start = ContinuousClock().now
            let bar = ProgressBar("done", total: 2, output: output, now: start)
            bar.update(done: 1, now: start + .seconds(60))
            bar.finish(done: 2, now: start + .seconds(61))
            output.note("a note")
            output.warn("the disk is nearly full")
        }
        #expect(lines == ["warning: the disk is nearly full"])
    }
}
