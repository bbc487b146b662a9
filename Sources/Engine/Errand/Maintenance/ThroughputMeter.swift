/// The throughput of each queue of a worker, in finished jobs per second over the last minute.
struct ThroughputMeter: Sendable {
    private struct Sample {
        var at: ContinuousClock.Instant
        var finished: [String: Int]
    }

    private static let span = Duration.seconds(60)
    /// The minimum distance of samples, independent of the frequency of heartbeats.
    private static let closest = Duration.seconds(1)

    private var samples: [Sample] = []

    /// Adds a sample of the finished jobs of each queue.
    mutating func note(_ counts: [(queue: String, finished: Int)], at now: ContinuousClock.Instant)
    {
        let sample = Sample(
            at: now, finished: Dictionary(counts.map { ($0.queue, $0.finished) }) { $1 })
        if samples.count > 1, now - samples[samples.count - 2].at < Self.closest {
            samples.removeLast()
        }
        samples.append(sample)
        // Keep only the newest of the samples that are at least a minute old.
        while samples.count > 2, now - samples[1].at >= Self.span { samples.removeFirst() }
    }

    /// Returns the finished jobs per second; 0 until there are two samples.
    func rate(of queue: String) -> Double {
        guard let first = samples.first, let last = samples.last, last.at > first.at else {
            return 0
        }
        let ended = last.finished[queue, default: 0] - first.finished[queue, default: 0]
        return max(0, Double(ended) / ((last.at - first.at) / .seconds(1)))
    }
}
