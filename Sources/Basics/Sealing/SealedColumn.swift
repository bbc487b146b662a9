import ErrandPostgres

/// A database column of values sealed with `SealingKeys`, declared by its module.
///
/// Each module has a constant list. The texts are SQL, and never come from outside.
package struct SealedColumn: Sendable {
    /// One column of the primary key, with the type to cast its text to.
    package struct KeyPart: Sendable {
        let name: String
        let type: String

        /// Creates a column of the primary key.
        package init(_ name: String, _ type: String) {
            self.name = name
            self.type = type
        }
    }

    /// The table with its schema, such as `coupons.epochs`.
    package let table: String
    /// The column: `bytea`, null if nothing is sealed.
    package let column: String
    /// The primary key.
    package let key: [KeyPart]
    /// An SQL expression over the row: the context with which its value was sealed.
    package let context: String

    /// Declares a column.
    ///
    /// - Parameters:
    ///   - table: with its schema, such as `coupons.epochs`.
    ///   - column: `bytea`, null if nothing is sealed.
    ///   - key: the primary key, whose index serves reading in batches.
    ///   - context: an SQL expression over the row for the sealing context, such as
    ///     `'coupons.epochs/' || id`.
    package init(_ table: String, _ column: String, key: [KeyPart], context: String) {
        self.table = table
        self.column = column
        self.key = key
        self.context = context
    }

    /// The qualified name, such as `coupons.epochs.secret`.
    package var name: String { "\(table).\(column)" }

    /// An SQL expression for the name of the key in a sealed value; null if it was never sealed.
    package var keyName: String {
        """
        CASE WHEN length(\(column)) > 2 AND get_byte(\(column), 0) = 1
        THEN encode(substr(\(column), 3, get_byte(\(column), 1)), 'escape') END
        """
    }

    /// Counts the values that each key has sealed.
    var counting: Statement {
        Statement(
            """
            SELECT \(keyName) AS key_name, count(*) AS count FROM \(table)
            WHERE \(column) IS NOT NULL GROUP BY 1 ORDER BY 1
            """)
    }

    /// Reads values sealed with other keys than this one, in the order of the primary key.
    ///
    /// - Parameter place: the key of the last row of the previous batch; nil for the first batch.
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

    /// Replaces a value unless it has changed; affects one row or none.
    func replacing(_ old: [UInt8], by new: [UInt8], at place: [String]) -> Statement {
        let columns = key.map(\.name).joined(separator: ", ")
        return Statement(
            """
            UPDATE \(table) SET \(column) = $1
            WHERE (\(columns)) = (\(values(in: "$3"))) AND \(column) = $2
            """, [.bytes(new), .bytes(old), .textArray(place)])
    }

    /// Returns the key's columns from an array of texts.
    private func values(in parameter: String) -> String {
        zip(1..., key).map { "\(parameter)[\($0)]::\($1.type)" }.joined(separator: ", ")
    }
}
