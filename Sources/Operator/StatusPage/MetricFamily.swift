/// A metric with its samples, as Prometheus and OpenMetrics define them.
package struct MetricFamily: Sendable {
    /// How its values move.
    package enum Kind: String, Sendable {
        /// Only ever grows while the process lives; its samples are named `…_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// How many observations did not exceed each bound.
        case histogram
        /// Always 1; its labels tell what does not change while the process lives.
        case info
    }

    /// The value of one histogram.
    package struct Distribution: Sendable {
        /// Upper bounds, ascending, without infinity, and how many observations they cover.
        package var buckets: [(bound: Double, count: Int)]
        package var count: Int
        package var sum: Double

        /// A distribution in base units, seconds or bytes.
        package init(buckets: [(bound: Double, count: Int)], count: Int, sum: Double) {
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

    let name: String
    let kind: Kind
    let help: String
    private(set) var samples: [Sample] = []

    /// A family without samples; it is left out until it has some.
    ///
    /// - Parameter name: without `_total` and `_info`, which belong to the samples.
    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// A gauge or counter of one sample.
    package init(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        self.init(name, kind, help)
        add(value)
    }

    /// Adds a sample; its labels must differ from those of the others.
    package mutating func add(_ value: Double, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: .number(value)))
    }

    /// Adds a sample.
    package mutating func add(_ value: Int, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: .number(Double(value))))
    }

    /// Adds a histogram.
    package mutating func add(
        _ distribution: Distribution, _ labels: (name: String, value: String)...
    ) {
        samples.append(Sample(labels: labels, value: .distribution(distribution)))
    }
}
