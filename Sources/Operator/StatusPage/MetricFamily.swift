/// A metric with its samples, as Prometheus and OpenMetrics define them.
public struct MetricFamily: Sendable {
    /// The type of a metric.
    public enum Kind: String, Sendable {
        /// Only increases while the process lives; its samples are named `…_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts the observations up to each bound.
        case histogram
        /// Always 1; its labels hold values that are constant while the process lives.
        case info
    }

    /// The value of one histogram.
    public struct Distribution: Sendable {
        /// The upper bounds, ascending, without infinity, with cumulative counts.
        public var buckets: [(bound: Double, count: Int)]
        /// The number of observations.
        public var count: Int
        /// The sum of the observations, in seconds or bytes.
        public var sum: Double

        /// Creates a distribution in base units: seconds or bytes.
        public init(buckets: [(bound: Double, count: Int)], count: Int, sum: Double) {
            self.buckets = buckets
            self.count = count
            self.sum = sum
        }
    }

    enum Value: Sendable { case number(Double), distribution(Distribution) }

    struct Sample: Sendable {
        var labels: [(name: String, value: String)]
        var value: Value
    }

    package let name: String
    let kind: Kind
    let help: String
    private(set) var samples: [Sample] = []

    /// Creates a family without samples; metrics leave it out until it has some.
    ///
    /// - Parameter name: the name without `_total` and `_info`, the suffixes of samples.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// Creates a gauge or counter with one sample.
    public init(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        self.init(name, kind, help)
        add(value)
    }

    /// Adds a sample; its labels must differ from those of the others.
    public mutating func add(_ value: Double, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: .number(value)))
    }

    /// Adds a sample.
    public mutating func add(_ value: Int, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: .number(Double(value))))
    }

    /// Why the family is invalid; nil if it is valid.
    ///
    /// One name that is invalid in Prometheus's data model would make the whole page unreadable.
    var flaw: String? {
        let form = "expected letters, digits and _, not beginning with a digit"
        guard Self.isName(name) else { return "the metric '\(name)': \(form)" }
        let labels = samples.flatMap(\.labels).map(\.name)
        if let bad = labels.first(where: { !Self.isName($0) }) {
            return "the label '\(bad)' of the metric \(name): \(form)"
        }
        if samples.contains(where: { Set($0.labels.map(\.name)).count < $0.labels.count }) {
            return "the metric \(name): a sample has a duplicate label"
        }
        let isOdd = samples.contains { sample in
            if case .distribution = sample.value {
                return kind != .histogram || sample.labels.contains { $0.name == "le" }
            }
            return kind == .histogram
        }
        guard !isOdd else {
            return "the metric \(name): only histograms have distributions, without a label le"
        }
        let texts = samples.map { $0.labels.map { "\($0.name)=\($0.value)" } }
        guard Set(texts).count == texts.count else {
            return "the metric \(name): two of its samples have the same labels"
        }
        return nil
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            byte == 0x5F || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                || (0x61...0x7A).contains(byte)
        }
    }

    /// Adds a histogram.
    public mutating func add(
        _ distribution: Distribution, _ labels: (name: String, value: String)...
    ) {
        samples.append(Sample(labels: labels, value: .distribution(distribution)))
    }
}
