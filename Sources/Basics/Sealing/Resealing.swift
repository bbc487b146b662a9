package import ErrandCrypto
package import ErrandPostgres

/// How many values of a column one key has sealed.
package struct SealedCount: Sendable, Equatable {
    /// The column's name.
    package var column: String
    /// The key's name; nil for bytes that no key has sealed.
    package var key: String?
    package var count: Int

    /// So many values of one column.
    package init(column: String, key: String?, count: Int) {
        self.column = column
        self.key = key
        self.count = count
    }
}

/// What became of the values of one column.
package struct Resealed: Sendable, Equatable {
    /// Sealed anew.
    package var done = 0
    /// The rows that could not be opened, the first few by their primary keys.
    package var damaged: [String] = []
    package var damagedCount = 0

    /// So many that were sealed anew, and nothing amiss.
    package init(done: Int = 0) { self.done = done }
}

/// Looks at what is sealed, and seals it anew by the first of the keys.
package struct Resealing: Sendable {
    private let session: Session
    /// Rows that are read and written at once: a transaction that holds nobody up for long.
    private static let batch = 200
    private static let shownDamages = 5
    /// What others change while it is read is read again, so often.
    private static let passes = 20

    /// - Parameter session: has no limit that a long column would break.
    package init(session: Session) { self.session = session }

    /// How many values each key has sealed, by column.
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

    /// Seals anew what other keys than the first have sealed, in batches, each in a transaction.
    ///
    /// May be interrupted and begun again at any time. A value that somebody changes meanwhile
    /// keeps the change; values whose key is not there stay as they are.
    ///
    /// - Parameters:
    ///   - note: written in the transaction of the first batch that changes something.
    ///   - isDone: is told how many were sealed anew, after each batch.
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

    /// The statement that seals a row's value anew; nil when it cannot be opened.
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
