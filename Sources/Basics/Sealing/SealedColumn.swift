import ErrandPostgres

/// A column of the database that holds what `SealingKeys` sealed, as its domain declares it.
///
/// Each domain has a constant list of its own; the command gathers them. The texts are SQL, and
/// never come from outside.
package struct SealedColumn: Sendable {
    /// One column of the primary key, with its type, by which its text is read back.
    package struct KeyPart: Sendable {
        let name: String
        let type: String

        /// A column of the primary key.
        package init(_ name: String, _ type: String) {
            self.name = name
            self.type = type
        }
    }

    /// The table with its schema, such as `coupons.epochs`.
    package let table: String
    /// The column: `bytea`, null where nothing is sealed.
    package let column: String
    /// The primary key.
    package let key: [KeyPart]
    /// An expression over the row: the context that its value was sealed with.
    package let context: String

    /// Declares a column.
    ///
    /// - Parameters:
    ///   - table: with its schema, such as `coupons.epochs`.
    ///   - column: `bytea`, null where nothing is sealed.
    ///   - key: the primary key; by its index the rows are read in batches.
    ///   - context: an SQL expression over the row, such as `'coupons.epochs/' || id`: what its
    ///     value was sealed with.
    package init(_ table: String, _ column: String, key: [KeyPart], context: String) {
        self.table = table
        self.column = column
        self.key = key
        self.context = context
    }

    /// What people know it by, such as `coupons.epochs.secret`.
    package var name: String { "\(table).\(column)" }

    /// The name of the key that sealed a value, as it stands in the value itself; null for bytes
    /// that were never sealed.
    package var keyName: String {
        """
        CASE WHEN length(\(column)) > 2 AND get_byte(\(column), 0) = 1
        THEN encode(substr(\(column), 3, get_byte(\(column), 1)), 'escape') END
        """
    }

    /// How many values each key has sealed.
    var counting: Statement {
        Statement(
            """
            SELECT \(keyName) AS key_name, count(*) AS count FROM \(table)
            WHERE \(column) IS NOT NULL GROUP BY 1 ORDER BY 1
            """)
    }

    /// Values that another key than this one has sealed, in the order of the primary key.
    ///
    /// - Parameter place: the key of the row behind which to go on; nil begins.
    func batch(notBy name: String, behind place: [String]?, limit: Int) -> Statement {
        let columns = key.map(\.name).joined(separator: ", ")
        let texts = key.map { "\($0.name)::text" }.joined(separator: ", ")
        let behind = place == nil ? "" : "AND (\(columns)) > (\(values(in: "$3")))"
        return Statement(
            """
            SELECT ARRAY[\(texts)] AS place, \(column) AS value, (\(context))::text AS context
            FROM \(table)
            WHERE \(column) IS NOT NULL AND (\(keyName)) IS DISTINCT FROM $1 \(behind)
            ORDER BY \(columns) LIMIT $2
            """,
            [.text(name), .int64(Int64(limit))] + (place.map { [.textArray($0)] } ?? []))
    }

    /// Puts a value in the place of another, unless that has changed; affects one row or none.
    func replacing(_ old: [UInt8], by new: [UInt8], at place: [String]) -> Statement {
        let columns = key.map(\.name).joined(separator: ", ")
        return Statement(
            """
            UPDATE \(table) SET \(column) = $1
            WHERE (\(columns)) = (\(values(in: "$3"))) AND \(column) = $2
            """, [.bytes(new), .bytes(old), .textArray(place)])
    }

    /// The key's columns out of an array of texts.
    private func values(in parameter: String) -> String {
        zip(1..., key).map { "\(parameter)[\($0)]::\($1.type)" }.joined(separator: ", ")
    }
}
