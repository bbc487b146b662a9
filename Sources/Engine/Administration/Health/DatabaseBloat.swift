import Errand
package import ErrandPostgres

/// The bloat of the database, and what holds back vacuum.
package struct DatabaseBloat: Sendable {
    package struct Table: Sendable {
        package var name: String
        /// An estimate of the server's statistics, like the dead rows.
        package var live: Int
        package var dead: Int
        package var size: Int
        /// The estimated size of the living rows.
        package var expected: Int
        package var indexSize: Int
        package var vacuumed: Instant?

        /// The time after which autovacuum should have been there.
        private static let vacuumInterval = Duration.seconds(600)

        /// Whether VACUUM helps.
        ///
        /// The table of a queue always has many dead rows: autovacuum removes them, unless it does
        /// not come or is held back.
        package func needsVacuum(isHeldBack: Bool, at now: Instant = .now()) -> Bool {
            guard dead > 1_000, dead > live / 5 else { return false }
            return isHeldBack
                || vacuumed.map { now.durationSince($0) > Self.vacuumInterval } ?? true
        }
    }

    package struct Index: Sendable {
        package var name: String
        package var table: String
        package var size: Int
        /// The estimated size without bloat.
        package var expected: Int

        /// Whether to run REINDEX.
        package var isBloated: Bool { size > 1 << 20 && size > expected * 2 }
    }

    /// Something that prevents vacuum from removing dead rows.
    package struct Pin: Sendable {
        package enum Kind: String, Sendable {
            case transaction
            case prepared = "prepared transaction"
            case slot = "replication slot"
            case standby
        }

        package var kind: Kind
        package var name: String
        package var who: String?
        /// The age in transactions.
        package var age: Int
        package var since: Instant?
        package var detail: String?
    }

    package var tables: [Table]
    package var indexes: [Index]
    package var pins: [Pin]
    /// The number of sessions of other roles whose activity is not visible.
    package var hidden: Int
}

extension DatabaseBloat.Table {
    init(_ row: Row) throws {
        self.init(
            name: try row.text("name"), live: Int(try row.int64("live")),
            dead: Int(try row.int64("dead")), size: Int(try row.int64("size")),
            expected: Int(try row.int64("expected")),
            indexSize: Int(try row.int64("index_size")),
            vacuumed: try row.optionalTimestamp("vacuumed"))
    }
}

extension DatabaseBloat.Pin {
    init?(_ row: Row) throws {
        guard let kind = Kind(rawValue: try row.text("what")) else { return nil }
        self.init(
            kind: kind, name: try row.text("name"), who: try row.optionalText("who"),
            age: Int(try row.optionalInt32("age") ?? 0),
            since: try row.optionalTimestamp("since"),
            detail: try row.optionalText("detail"))
    }
}

extension Inspector {
    /// The bloat, and what has held back vacuum for longer than `age`.
    package func databaseBloat(pinnedFor age: Duration) async throws -> DatabaseBloat {
        let answers = try await ofSessions { source in
            [
                Statement(Statements.tableBloat), Statement(Statements.indexBloat),
                Statement(Statements.pins(source), [.double(age / .seconds(1))]),
                Statement(Statements.hiddenSessions(source)),
            ]
        }
        return DatabaseBloat(
            tables: try answers[0].map(DatabaseBloat.Table.init),
            indexes: try answers[1].map { row in
                DatabaseBloat.Index(
                    name: try row.text("name"), table: try row.text("of_table"),
                    size: Int(try row.int64("size")), expected: Int(try row.int64("expected")))
            },
            pins: try answers[2].compactMap(DatabaseBloat.Pin.init),
            hidden: Int(try answers[3].int64(0, 0)))
    }
}
