package import ErrandPostgres

/// An establishment.
package struct EstablishmentRecord: Sendable {
    package var id: Int64
    package var name: String
    package var closedAt: Instant?
    /// The number of its branches, the closed ones too.
    package var branches: Int64
}

/// A branch of an establishment.
package struct BranchRecord: Sendable {
    package var id: Int64
    package var name: String
    package var longitude: Double
    package var latitude: Double
    package var closedAt: Instant?
}

/// Reads establishments and branches.
package struct EstablishmentRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let columns = """
        e.id, e.name, e.closed_at, (SELECT count(*) FROM establishments.branches b
            WHERE b.establishment_id = e.id)
        """

    private static func record(_ row: Row) throws -> EstablishmentRecord {
        EstablishmentRecord(
            id: try row.int64(0), name: try row.text(1), closedAt: try row.optionalTimestamp(2),
            branches: try row.int64(3))
    }

    private static let page = """
        SELECT \(columns) FROM establishments.establishments e
        WHERE e.id > $1 AND ($2::text IS NULL OR strpos(lower(e.name), lower($2)) > 0)
          AND (NOT $3 OR e.closed_at IS NOT NULL)
        ORDER BY e.id LIMIT $4
        """

    /// Returns one page by id.
    package func page(
        named: String?, isClosed: Bool, behind: Int64, limit: Int
    ) async throws -> [EstablishmentRecord] {
        try await session.query(
            Self.page,
            [.int64(behind), .optional(named), .bool(isClosed), .int64(Int64(limit))]
        ).map(Self.record)
    }

    private static let one = """
        SELECT \(columns) FROM establishments.establishments e WHERE e.id = $1
        """

    package func establishment(_ id: Int64) async throws -> EstablishmentRecord? {
        try await session.query(Self.one, [.int64(id)]).first.map(Self.record)
    }

    private static let branches = """
        SELECT b.id, b.name, establishments.longitude(b.place), establishments.latitude(b.place),
            b.closed_at
        FROM establishments.branches b WHERE b.establishment_id = $1 ORDER BY b.id LIMIT 1000
        """

    /// The branches by id, at most a thousand.
    package func branches(of establishment: Int64) async throws -> [BranchRecord] {
        try await session.query(Self.branches, [.int64(establishment)]).map { row in
            BranchRecord(
                id: try row.int64(0), name: try row.text(1), longitude: try row.double(2),
                latitude: try row.double(3), closedAt: try row.optionalTimestamp(4))
        }
    }
}
