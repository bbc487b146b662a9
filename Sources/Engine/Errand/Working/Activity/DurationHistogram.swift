/// A histogram of durations, with buckets from 100 µs to weeks.
///
/// There are four buckets for each doubling, so a value read from the histogram is at most 19 %
/// off. Adding merges two histograms.
package struct DurationHistogram: Sendable, Equatable {
    /// The upper bound of bucket 0, in milliseconds.
    static let start = 0.1
    private static let perDoubling = 4
    /// 100 µs doubled 36 times is 79 days; the last bucket also holds all longer durations.
    static let bucketCount = perDoubling * 36 + 1
    /// 2 to the power of a quarter, a half and three quarters.
    private static let steps = [
        1.189_207_115_002_721, 1.414_213_562_373_095, 1.681_792_830_507_429,
    ]

    private(set) var counts = [Int](repeating: 0, count: bucketCount)
    /// The number of durations.
    package private(set) var total = 0

    /// Creates an empty histogram.
    package init() {}

    /// Returns the bucket of a duration in milliseconds.
    ///
    /// A negative duration, from clocks that differ, counts as zero.
    static func bucket(ofMilliseconds value: Double) -> Int {
        let ratio = value / start
        guard ratio > 1 else { return 0 }
        guard ratio.isFinite else { return bucketCount - 1 }
        // A bucket contains its upper end, as the first one does.
        let mantissa = ratio.significand
        let quarter =
            mantissa > steps[1]
            ? (mantissa > steps[2] ? 3 : 2) : (mantissa > steps[0] ? 1 : 0)
        let doubling = Int(ratio.exponent) * perDoubling
        let bucket = doubling + quarter + (mantissa == 1 ? 0 : 1)
        return min(bucket, bucketCount - 1)
    }

    /// Returns the upper bound of a bucket, in milliseconds.
    static func end(of bucket: Int) -> Double {
        let doublings = Double(sign: .plus, exponent: bucket / perDoubling, significand: 1)
        let quarter = bucket % perDoubling
        return start * doublings * (quarter == 0 ? 1 : steps[quarter - 1])
    }

    /// Returns the number of durations up to each bound: 100 µs times 2 to the power of each of
    /// `doublings`.
    package func counts(upToDoublings doublings: [Int]) -> [Int] {
        var (sum, next) = (0, 0)
        return doublings.map { doubling in
            while next < counts.count, next <= doubling * Self.perDoubling {
                sum += counts[next]
                next += 1
            }
            return sum
        }
    }

    /// Counts one duration.
    mutating func add(milliseconds: Double) {
        counts[Self.bucket(ofMilliseconds: milliseconds)] += 1
        total += 1
    }

    /// Adds the count of one bucket of a stored histogram.
    ///
    /// An unknown bucket is skipped.
    package mutating func add(_ count: Int, toBucket bucket: Int) {
        guard counts.indices.contains(bucket), count > 0 else { return }
        // A row may have any count: sums of them are to be in range.
        let count = min(count, 1 << 40)
        counts[bucket] += count
        total += count
    }

    /// Adds another histogram.
    mutating func merge(_ other: DurationHistogram) {
        for (bucket, count) in other.counts.enumerated() { add(count, toBucket: bucket) }
    }

    /// Returns the duration that a share (0 to 1) of them does not exceed; nil if empty.
    ///
    /// The result is interpolated within the bucket that holds the nearest rank.
    package func percentile(_ share: Double) -> Duration? {
        guard total > 0 else { return nil }
        let rank = min(max(Int((share * Double(total)).rounded(.up)), 1), total)
        var before = 0
        for (bucket, count) in counts.enumerated() where count > 0 {
            guard before + count < rank else {
                let low = bucket == 0 ? 0 : Self.end(of: bucket - 1)
                let high = Self.end(of: bucket)
                let into = Double(rank - before) / Double(count)
                return .microseconds(Int64(((low + (high - low) * into) * 1_000).rounded()))
            }
            before += count
        }
        return nil
    }

    /// The non-empty buckets, for the table.
    var stored: (buckets: [Int], counts: [Int]) {
        let buckets = counts.indices.filter { counts[$0] > 0 }
        return (buckets, buckets.map { counts[$0] })
    }
}
