import Testing

@testable import Errand

@Suite("Duration histogram") struct DurationHistogramTests {
    @Test(
        arguments: [
            (-5, 0), (0, 0), (0.1, 0), (0.100_1, 1), (0.118, 1), (0.12, 2), (0.15, 3), (0.19, 4),
            (0.2, 4), (0.21, 5), (1, 14), (1_000, 54), (60_000, 77), (86_400_000, 119),
            (7 * 86_400_000, 130), (1e12, 144), (.infinity, 144), (.nan, 0),
        ] as [(Double, Int)])
    func `a duration falls into one bucket`(milliseconds: Double, bucket: Int) {
        #expect(DurationHistogram.bucket(ofMilliseconds: milliseconds) == bucket)
    }

    @Test func `buckets follow each other without gaps, each a fifth wider at most`() {
        for bucket in 1..<DurationHistogram.bucketCount {
            let low = DurationHistogram.end(of: bucket - 1)
            let high = DurationHistogram.end(of: bucket)
            #expect(high > low && high < low * 1.2)
            for value in [low.nextUp * 1.000_001, (low + high) / 2, high * 0.999_999] {
                #expect(DurationHistogram.bucket(ofMilliseconds: value) == bucket)
            }
        }
        #expect(DurationHistogram.end(of: DurationHistogram.bucketCount - 1) > 70 * 86_400_000.0)
    }

    @Test(arguments: [0.5, 0.95, 0.99, 0, 1])
    func `of none there is no percentile, of one it is near it`(share: Double) throws {
        #expect(DurationHistogram().percentile(share) == nil)
        var one = DurationHistogram()
        one.add(milliseconds: 42)
        let found = try #require(one.percentile(share)) / .milliseconds(1)
        #expect(found > 42 / 1.19 && found < 42 * 1.19)
    }

    /// Beside the exact percentile (the nearest rank) of forty random samples of many shapes.
    @Test func `a percentile is within 19 per cent of the exact one`() throws {
        for round in 0..<40 {
            let size = Int.random(in: 1...1_000)
            let spread = Double.random(in: 0...6)
            let samples = (0..<size).map { _ in
                0.11 * (round % 3 == 0 ? 1_000 : 1) * exponential(.random(in: 0...1) * spread)
            }
            var histogram = DurationHistogram()
            for sample in samples { histogram.add(milliseconds: sample) }
            #expect(histogram.total == size)
            let sorted = samples.sorted()
            for share in [0.01, 0.5, 0.9, 0.95, 0.99, 1] {
                let exact = sorted[max(Int((share * Double(size)).rounded(.up)), 1) - 1]
                let found = try #require(histogram.percentile(share)) / .milliseconds(1)
                // Rounded to a microsecond.
                #expect(found <= exact * 1.19 + 0.001, "\(share) of \(size)")
                #expect(found >= exact / 1.19 - 0.001, "\(share) of \(size)")
            }
        }
    }

    /// 10 to that power, in steps: only the spread matters.
    private func exponential(_ power: Double) -> Double {
        var value = 1.0
        for _ in 0..<Int(power) { value *= 10 }
        return value * (1 + 9 * (power - power.rounded(.down)))
    }

    @Test func `merging is as if all had been added to one`() {
        var one = DurationHistogram()
        var other = DurationHistogram()
        var both = DurationHistogram()
        for number in 1...500 {
            let value = Double(number * number) / 7
            if number % 3 == 0 {
                one.add(milliseconds: value)
            } else {
                other.add(milliseconds: value)
            }
            both.add(milliseconds: value)
        }
        one.merge(other)
        #expect(one == both)
        // What is stored comes back, also when a bucket is named twice; what is no bucket does not.
        var back = DurationHistogram()
        let stored = both.stored
        for (bucket, count) in zip(stored.buckets, stored.counts) {
            back.add(count - 1, toBucket: bucket)
            back.add(1, toBucket: bucket)
        }
        back.add(3, toBucket: -1)
        back.add(3, toBucket: DurationHistogram.bucketCount)
        #expect(back == both)
    }
}
