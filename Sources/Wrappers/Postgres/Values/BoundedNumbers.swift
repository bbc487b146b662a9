/// Floating-point numbers of rows as other types.
///
/// PostgreSQL's have NaN and infinities, and a table takes any number: what is not a number counts
/// as zero, and what is out of range as the nearest value.
extension Row {
    /// A duration in seconds, at most 30 million years.
    public func seconds(_ column: some ColumnKey) throws(PostgresError) -> Duration {
        .bounded(seconds: try double(column))
    }

    /// A duration in seconds, or nil for null.
    public func optionalSeconds(_ column: some ColumnKey) throws(PostgresError) -> Duration? {
        try optionalDouble(column).map { .bounded(seconds: $0) }
    }
}

extension Duration {
    /// A number of seconds, which may be any; limited to 30 million years, zero if it is NaN.
    package static func bounded(seconds: Double) -> Duration {
        .seconds(seconds.bounded(to: -1e15...1e15))
    }
}

extension Double {
    /// The nearest number of a range, which contains zero; zero if it is NaN.
    package func bounded(to range: ClosedRange<Double>) -> Double {
        isNaN ? 0 : Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
