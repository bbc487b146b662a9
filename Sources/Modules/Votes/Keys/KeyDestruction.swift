import ErrandPostgres

/// Destroys the keys of votes that are counted or cancelled, so that nothing in the database opens
/// the links between voters and choices.
///
/// A rotation of the wrapping key in two transactions: see `votes.rotate_wrapping_key` and
/// `votes.destroy_keys`. It destroys the keys of all such votes at once, and any number of workers
/// may run it.
enum KeyDestruction {
    private static let rotate = "SELECT votes.rotate_wrapping_key()"
    private static let destroy = "SELECT votes.destroy_keys()"
    private static let pending = "SELECT votes.has_counted_key($1)"
    /// The maximum number of rotations for one vote.
    ///
    /// Others may have begun one before the vote was counted, or not have ended it.
    private static let rounds = 4

    /// Destroys the keys of the votes that are over by now.
    ///
    /// - Throws: `PostgresError` with SQLSTATE 55P03 if another transaction holds the key that is
    ///   to be destroyed for more than two seconds.
    static func run(in database: Pool) async throws {
        // Each in a transaction of its own: the second waits for those that read the old key.
        _ = try await database.withSession { try await $0.query(rotate) }
        _ = try await database.withSession { try await $0.query(destroy) }
    }

    /// Destroys the key of a vote if it is counted.
    ///
    /// `votes.publish` refuses a vote whose key still exists.
    ///
    /// - Throws: as ``run(in:)``.
    static func run(of vote: Int64, in database: Pool) async throws {
        for _ in 0..<rounds {
            let isPending = try await database.withSession {
                try await $0.query(pending, [.int64(vote)]).bool(0, 0)
            }
            guard isPending else { return }
            try await run(in: database)
        }
    }
}
