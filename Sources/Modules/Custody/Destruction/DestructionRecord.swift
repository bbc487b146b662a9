package import ErrandPostgres

/// A destruction, as recorded in the database.
package struct DestructionRecord: Sendable {
    package var id: Int64
    package var state: String
    package var notifiedOn: String
    package var keepsLedger: Bool
    /// The production context it was planned for; nil for other contexts.
    package var context: String?
    package var folders: [String]
    package var accepted: [String]
    package var reason: String?
    package var plannedBy: String
    package var plannedAt: Instant
    package var approvedBy: String?
    package var approvedAt: Instant?
    package var startedAt: Instant?
    package var endedAt: Instant?
    package var certificate: String?
    package var certificateHash: [UInt8]?

    init(_ row: Row) throws(PostgresError) {
        id = try row.int64("id")
        state = try row.text("state")
        notifiedOn = try row.text("notified_on")
        keepsLedger = try row.bool("keeps_ledger")
        context = try row.optionalText("context")
        folders = try row.textArray("folders")
        accepted = try row.textArray("accepted")
        reason = try row.optionalText("reason")
        plannedBy = try row.text("planned_by")
        plannedAt = try row.timestamp("planned_at")
        approvedBy = try row.optionalText("approved_by")
        approvedAt = try row.optionalTimestamp("approved_at")
        startedAt = try row.optionalTimestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
        certificate = try row.optionalText("certificate")
        certificateHash = try row.optionalBytes("certificate_sha256")
    }
}

/// One step of a destruction.
package struct DestructionStep: Sendable {
    package var name: String
    package var startedAt: Instant?
    package var endedAt: Instant?
    /// What it did, as JSON.
    package var detail: [UInt8]
}

/// Reads destructions.
package struct DestructionRows: Sendable {
    let session: Session

    /// Reads with this session.
    package init(session: Session) { self.session = session }

    /// Returns the destruction of this id, or else the last one; nil if there is none.
    package func destruction(_ id: Int64?) async throws -> DestructionRecord? {
        try await session.query(
            """
            SELECT id, state, notified_on::text AS notified_on, keeps_ledger, context, folders,
                accepted, reason, planned_by, planned_at, approved_by, approved_at, started_at,
                ended_at, certificate, certificate_sha256
            FROM custody.destructions
            WHERE $1::bigint IS NULL OR id = $1 ORDER BY id DESC LIMIT 1
            """, [.optional(id)]
        ).first.map { row throws(PostgresError) in try DestructionRecord(row) }
    }

    /// Returns the steps of a started destruction, in order.
    package func steps(_ id: Int64) async throws -> [DestructionStep] {
        try await session.query(
            """
            SELECT name, started_at, ended_at, detail FROM custody.steps
            WHERE destruction_id = $1 ORDER BY position
            """, [.int64(id)]
        ).map { row in
            DestructionStep(
                name: try row.text("name"), startedAt: try row.optionalTimestamp("started_at"),
                endedAt: try row.optionalTimestamp("ended_at"), detail: try row.json("detail"))
        }
    }

    /// Returns the rows that were there before, and those that are left in tables to be emptied.
    func counts(_ id: Int64) async throws -> (tables: Int, before: Int64, after: Int64?) {
        let row = try await session.query(
            """
            SELECT count(*) AS tables, coalesce(sum(rows_before), 0)::bigint AS rows_before,
                sum(rows_after)::bigint AS rows_after
            FROM custody.counts WHERE destruction_id = $1 AND kept_for IS NULL
            """, [.int64(id)])[0]
        return (
            Int(try row.int64("tables")), try row.int64("rows_before"),
            try row.optionalInt64("rows_after")
        )
    }
}
