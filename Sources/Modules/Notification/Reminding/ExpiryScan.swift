package import ErrandPostgres

/// A scan of what expires in the windows of one distance, in the order of expiry and id.
package struct ExpiryScan: Sendable {
    package let windows: [ExpiryWindow]
    /// The last scanned row.
    package var last: (expiry: Instant, id: Int64)
    package let through: Instant

    /// Nil when there are no windows.
    package init?(_ windows: [ExpiryWindow]) {
        guard let after = windows.map(\.after).min(), let end = windows.map(\.through).max()
        else { return nil }
        self.windows = windows
        last = (after, .max)
        through = end
    }

    /// The parameters of a statement that reads by windows: their zones, last days, starts, ends,
    /// ends of today and seconds since midnight, each an array, then the distance.
    package var parameters: [Parameter] {
        [
            .textArray(windows.map(\.zone)), .textArray(windows.map(\.lastDay)),
            .timestampArray(windows.map(\.after)), .timestampArray(windows.map(\.through)),
            .timestampArray(windows.map(\.until)),
            .int32Array(windows.map { Int32($0.secondOfDay) }),
            .int32(Int32(windows.first?.daysLeft ?? 0)),
        ]
    }

    /// Returns the intent of a row with `person_id`, `last_day`, `data`, `dedupe_key` and `until`;
    /// nil for a row without a person.
    ///
    /// - Parameter subject: comes before the last day in the notice's subject.
    package static func intent(
        _ row: Row, kind: String, subject: String
    ) throws -> Intent? {
        guard let person = try row.optionalInt64("person_id") else { return nil }
        return Intent(
            kind, to: person, of: "\(subject):\(try row.text("last_day"))",
            data: [UInt8](try row.text("data").utf8),
            dedupeKey: try row.text("dedupe_key"), expiresAt: try row.timestamp("until"))
    }
}
