import ErrandPostgres

/// Destroys the keys of votes that are counted or cancelled, so that nothing in the database opens
/// the links between voters and choices.
///
/// A rotation of the wrapping key in two transactions: see `votes.rotate_wrapping_key` and
/// `votes.destroy_keys`. It destroys the keys of all such votes at once, and any number of workers
/// may run it.
enum KeyDestruction {
    /// How far the destruction of keys came.
    enum Progress: Sendable {
        case done
        /// A transaction is open that has opened a vote with the key that is to be destroyed, or
        /// the next checkpoint has to write the overwritten key to the disk.
        case waiting
    }

    private static let rotate = "SELECT votes.rotate_wrapping_key()"
    private static let destroy = "SELECT progress FROM votes.destroy_keys()"
    private static let pending = "SELECT votes.has_counted_key($1)"
    /// The maximum number of rotations for one vote.
    ///
    /// Others may have begun one before the vote was counted, or not have ended it.
    private static let rounds = 4

    /// Destroys the keys of the votes that are over by now.
    static func run(in database: Pool) async throws -> Progress {
        do {
            // Each in a transaction of its own: the second waits for those that opened a vote with
            // the old key.
            _ = try await database.withSession { try await $0.query(rotate) }
            for _ in 0..<rounds {
                let progress = try await database.withSession {
                    try await $0.query(destroy).text(0, 0)
                }
                if progress != "again" { return progress == "done" ? .done : .waiting }
            }
            return .waiting
        } catch let error as PostgresError where error.sqlState == "55P03" {
            return .waiting
        }
    }

    /// Destroys the key of a vote if it is counted.
    ///
    /// `votes.publish` refuses a vote whose key still exists.
    static func run(of vote: Int64, in database: Pool) async throws -> Progress {
        for _ in 0..<rounds {
            let isPending = try await database.withSession {
                try await $0.query(pending, [.int64(vote)]).bool(0, 0)
            }
            guard isPending else { return .done }
            if try await run(in: database) == .waiting { return .waiting }
        }
        return .waiting
    }
}
