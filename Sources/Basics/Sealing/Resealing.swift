package import ErrandCrypto
package import ErrandPostgres

/// The number of values of a column sealed with one key.
package struct SealedCount: Sendable, Equatable {
    /// The column's name.
    package var column: String
    /// The key's name; nil for values that no key has sealed.
    package var key: String?
    package var count: Int

    /// Creates the count of one column and key.
    package init(column: String, key: String?, count: Int) {
        self.column = column
        self.key = key
        self.count = count
    }
}

/// The result of resealing one column.
package struct Resealed: Sendable, Equatable {
    /// The number of resealed values.
    package var done = 0
    /// The primary keys of the first few rows that could not be opened.
    package var damaged: [String] = []
    package var damagedCount = 0

    /// Creates a result without damaged values.
    package init(done: Int = 0) { self.done = done }
}

/// Counts sealed values, and reseals them with the first key.
package struct Resealing: Sendable {
    private let session: Session
    /// The number of rows per batch, so that transactions are short.
    private static let batch = 200
    private static let shownDamages = 5
    /// The maximum number of passes, as values changed concurrently are read again.
    private static let passes = 20

    /// - Parameter session: without a timeout that a long column would exceed.
    package init(session: Session) { self.session = session }

    /// Returns the number of values that each key has sealed, by column.
    package func counts(of columns: [SealedColumn]) async throws -> [SealedCount] {
        let answers = try await session.pipeline(columns.map(\.counting))
        return try zip(columns, answers).flatMap { column, rows in
            try rows.map { row in
                SealedCount(
                    column: column.name, key: try row.optionalText("key_name"),
                    count: Int(try row.int64("count")))
            }
        }
    }

    /// Reseals the values sealed with other keys than the first, in batches of one transaction
    /// each.
    ///
    /// May be interrupted and restarted at any time. Keeps concurrent changes; leaves values whose
    /// key is missing.
    ///
    /// - Parameters:
    ///   - note: a statement to run in the transaction of the first batch with a change.
    ///   - isDone: receives the total number of resealed values, after each batch.
    package func reseal(
        _ column: SealedColumn, with keys: SealingKeys, note: Statement?,
        isDone: (Int) -> Void = { _ in }
    ) async throws -> Resealed {
        var result = Resealed()
        var note = note
        for _ in 0..<Self.passes {
            var place: [String]?
            var hasMissed = false
            result.damaged = []
            result.damagedCount = 0
            while true {
                try Task.checkCancellation()
                let rows = try await session.query(
                    column.batch(notBy: keys.names[0], behind: place, limit: Self.batch))
                guard !rows.isEmpty else { break }
                var writes: [Statement] = []
                for row in rows {
                    let found = try row.textArray("place")
                    place = found
                    if let write = try write(row, of: column, with: keys, &result) {
                        writes.append(write)
                    }
                }
                guard !writes.isEmpty else { continue }
                let answers = try await session.pipeline(writes + (note.map { [$0] } ?? []))
                note = nil
                let done = answers.prefix(writes.count).reduce(0) { $0 + Int($1.affected) }
                hasMissed = hasMissed || done < writes.count
                result.done += done
                isDone(result.done)
            }
            if !hasMissed { break }
        }
        return result
    }

    /// Returns the statement that reseals a row's value; nil if it cannot be opened.
    private func write(
        _ row: Row, of column: SealedColumn, with keys: SealingKeys, _ result: inout Resealed
    ) throws -> Statement? {
        let (value, context) = (try row.bytes("value"), try row.text("context"))
        let place = try row.textArray("place")
        do {
            let secret = try keys.open(value, context: context)
            return column.replacing(value, by: try keys.seal(secret, context: context), at: place)
        } catch CryptoError.unknownKey {
            return nil
        } catch CryptoError.damaged {
            result.damagedCount += 1
            if result.damaged.count < Self.shownDamages {
                result.damaged.append(place.joined(separator: ", "))
            }
            return nil
        }
    }
}
