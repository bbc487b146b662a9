/// How many jobs a second each queue of a worker has ended over the last minute.
struct Pace: Sendable {
    private struct Sample {
        var at: ContinuousClock.Instant
        var finished: [String: Int]
    }

    private static let span = Duration.seconds(60)
    /// Enough for an estimate, however often the worker beats.
    private static let closest = Duration.seconds(1)

    private var samples: [Sample] = []

    /// Takes down how many jobs each queue has ended so far.
    mutating func note(_ counts: [(queue: String, finished: Int)], at now: ContinuousClock.Instant)
    {
        let sample = Sample(
            at: now, finished: Dictionary(counts.map { ($0.queue, $0.finished) }) { $1 })
        if samples.count > 1, now - samples[samples.count - 2].at < Self.closest {
            samples.removeLast()
        }
        samples.append(sample)
        // The oldest is the last one at least a minute old.
        while samples.count > 2, now - samples[1].at >= Self.span { samples.removeFirst() }
    }

    /// Jobs ended a second; 0 until two counts were taken.
    func rate(of queue: String) -> Double {
        guard let first = samples.first, let last = samples.last, last.at > first.at else {
            return 0
        }
        let ended = last.finished[queue, default: 0] - first.finished[queue, default: 0]
        return max(0, Double(ended) / ((last.at - first.at) / .seconds(1)))
    }
}
