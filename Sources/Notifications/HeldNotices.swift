package import Postgres

/// Notices that wait for a better time of their person's day.
package enum HeldNotices {
    private static let withdraw = "SELECT notification.withdraw_held($1, $2, $3)"

    /// Takes back what of some subjects some people have not been told yet; their jobs find nothing
    /// to do.
    ///
    /// - Parameter reason: in words for an operator.
    package static func withdraw(
        of subjects: [String], to people: [Int64], because reason: String,
        in transaction: Transaction
    ) async throws {
        _ = try await transaction.query(
            withdraw, [.int64Array(people), .textArray(subjects), .text(reason)])
    }
}
