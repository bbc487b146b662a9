package import ErrandPostgres

/// Notices held until a better time of the person's day.
package enum HeldNotices {
    private static let withdraw = "SELECT notification.withdraw_held($1, $2, $3)"

    /// Withdraws the held notices of subjects to people; their jobs do nothing.
    ///
    /// - Parameter reason: a text for operators.
    package static func withdraw(
        of subjects: [String], to people: [Int64], because reason: String,
        in transaction: Transaction
    ) async throws {
        _ = try await transaction.query(
            withdraw, [.int64Array(people), .textArray(subjects), .text(reason)])
    }

    private static let find = """
        SELECT n.id, n.person_id, n.data FROM notification.notices n
        WHERE n.person_id = ANY ($1) AND n.subject = $2 AND n.is_held
        ORDER BY n.id FOR NO KEY UPDATE
        """
    private static let amend = """
        UPDATE notification.notices n SET data = u.data::jsonb
        FROM unnest($1::bigint[], $2::text[]) AS u (id, data) WHERE n.id = u.id AND n.is_held
        """

    /// Returns the held notices of a subject to people, locked until the transaction ends.
    package static func find(
        of subject: String, to people: [Int64], in transaction: Transaction
    ) async throws -> [(id: Int64, person: Int64, data: [UInt8])] {
        try await transaction.query(find, [.int64Array(people), .text(subject)]).map { row in
            (try row.int64("id"), try row.int64("person_id"), try row.json("data"))
        }
    }

    /// Replaces the facts of held notices, each a JSON object.
    package static func amend(
        _ notices: [Int64], _ data: [String], in transaction: Transaction
    ) async throws {
        _ = try await transaction.query(amend, [.int64Array(notices), .textArray(data)])
    }
}
