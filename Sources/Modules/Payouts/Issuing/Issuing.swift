package import ErrandGregorian
package import Errand
import ErrandLedger
package import ErrandPostgres

/// Brings the payouts of a run into files for the banks and onto cheques.
///
/// First each pending payout is given to a file, with its number, payee and bank details as they
/// stand: that is frozen. Then the files are written from what is frozen, and at last the issue
/// is published, and its people are told: not before, because files that are not whole are not
/// sent. It may be killed at any time, and goes on when it is begun again.
package struct Issuing: Sendable {
    /// How far it is.
    package enum Step: Sendable, Equatable {
        /// So many payouts were looked at by this call.
        case frozen(Int)
        /// A file of this name is whole.
        case wrote(String)
    }

    private let pool: Pool
    private let client: JobClient
    private let book: BankBook
    private let profile: IssueProfile
    private let actor: String
    private let pageSize: Int

    /// - Parameters:
    ///   - pool: of two sessions at least, better of three: one holds the lock that keeps others
    ///     away, one reads while one writes.
    ///   - book: opens the bank details.
    ///   - profile: who pays.
    ///   - actor: who issues, 1 to 200 characters.
    ///   - pageSize: payouts of a transaction.
    package init(
        pool: Pool, client: JobClient, book: BankBook, profile: IssueProfile, actor: String,
        pageSize: Int = 1_000
    ) {
        self.pool = pool
        self.client = client
        self.book = book
        self.profile = profile
        self.actor = actor
        self.pageSize = pageSize
    }

    /// "payo" as a number: the first key of the lock; the second one is the run's.
    private static let lockKey: Int32 = 0x7061_796F
    private static let lock = "SELECT pg_try_advisory_lock($1, $2)"
    private static let unlock = "SELECT pg_advisory_unlock($1, $2)"
    private static let run = """
        SELECT r.quarter, r.pay_date::text AS pay_date FROM payouts.runs r WHERE r.id = $1
        """
    private static let frozen = """
        SELECT EXISTS (SELECT FROM payouts.issues i WHERE i.run_id = $1
            AND i.frozen_at IS NOT NULL AND i.published_at IS NULL)
        """
    private static let begin = "SELECT payouts.begin_issue($1, $2::text::date, $3::text::date, $4)"
    private static let publish = "SELECT payouts.publish($1, $2)"
    private static let issued = """
        SELECT coalesce(array_agg(s.payout_id ORDER BY s.payout_id), '{}') FROM (
            SELECT i.payout_id FROM payouts.items i
            WHERE i.file_id = $1 AND i.payout_id > $2 ORDER BY i.payout_id LIMIT $3
        ) s
        """
    /// Payouts of which people are told by one statement.
    private static let toldAtOnce = 20_000

    /// What the files of a run would be; nothing changes.
    ///
    /// - Throws: ``PayoutError/refused(_:hint:)`` when the profile or the keys lack something that
    ///   the run needs.
    package func plan(run: Int64) async throws -> IssuePlan {
        try await pool.withSession { session in
            try await IssuePlan.read(run: run, profile: profile, book: book, session)
        }
    }

    /// Makes the files of a run that is approved, or of what is pending again of one that was
    /// issued; goes on with an issue that was interrupted.
    ///
    /// - Parameters:
    ///   - folder: that holds the folders of all issues; must exist.
    ///   - today: the day that the files of a new issue bear.
    ///   - isDone: is told of each step; what it throws interrupts.
    /// - Returns: the issue, whose files are in the folder of its label.
    /// - Throws: ``PayoutError``; `FileError` when a file cannot be written.
    package func issue(
        run: Int64, in folder: String, today: CivilDate,
        isDone: (Step) throws -> Void = { _ in }
    ) async throws -> IssueRecord {
        try await alone(run) {
            // What was frozen stands, whatever is pending since then.
            if try await !isFrozen(run) { _ = try await plan(run: run) }
            let id = try await begin(run, today)
            let begun = try await record(id)
            try await Freezing(
                pool: pool, client: client, book: book, profile: profile, actor: actor,
                issue: begun, pageSize: pageSize
            ).run { try isDone(.frozen($0)) }
            let frozen = try await record(id)
            try await write(frozen, in: folder, isDone)
            try await publish(frozen)
            return try await record(id)
        }
    }

    /// Writes the files of an issue again, byte for byte, from what was frozen.
    ///
    /// - Parameter folder: in which the issue's own folder is made.
    /// - Throws: `FileError.unexpectedContent` when the profile or this version would write other
    ///   bytes than then.
    package func remake(
        issue id: Int64, in folder: String, isDone: (Step) throws -> Void = { _ in }
    ) async throws -> IssueRecord {
        let issue = try await record(id)
        guard issue.publishedAt != nil else {
            throw PayoutError.conflict(
                "issue \(issue.label) is not complete: issue the run again, which ends it")
        }
        try await write(issue, in: folder, isDone)
        return issue
    }

    // MARK: Steps

    private func write(
        _ issue: IssueRecord, in folder: String, _ isDone: (Step) throws -> Void
    ) async throws {
        let writer = IssueWriter(pool: pool, book: book, profile: profile, issue: issue)
        try await writer.write(to: "\(folder)/\(issue.label)") { try isDone(.wrote($0)) }
    }

    private func isFrozen(_ run: Int64) async throws -> Bool {
        try await pool.withSession { session in
            try await session.query(Self.frozen, [.int64(run)]).bool(0, 0)
        }
    }

    private func begin(_ run: Int64, _ today: CivilDate) async throws -> Int64 {
        try await pool.withSession { session in
            guard let row = try await session.query(Self.run, [.int64(run)]).first else {
                throw PayoutError.notFound("there is no run \(run)")
            }
            var payDate = try row.civilDate("pay_date")
            if payDate.daysSince1970 < today.daysSince1970 {
                payDate = BankingDays.onOrAfter(
                    CivilDate(daysSince1970: today.daysSince1970 + 1))
            }
            return try await session.payoutQuery(
                Self.begin,
                [.int64(run), .text(today.isoText), .text(payDate.isoText), .text(actor)]
            ).int64(0, 0)
        }
    }

    /// Ends the issue, and has its people told.
    private func publish(_ issue: IssueRecord) async throws {
        try await pool.transaction { transaction in
            let isNew = try await transaction.payoutQuery(
                Self.publish, [.int64(issue.id), .text(actor)]
            ).bool(0, 0)
            guard isNew else { return }
            for file in issue.files {
                var behind: Int64 = 0
                while true {
                    let ids = try await transaction.query(
                        Self.issued,
                        [.int64(file.id), .int64(behind), .int64(Int64(Self.toldAtOnce))]
                    ).int64Array(0, 0)
                    guard let last = ids.last else { break }
                    behind = last
                    try await client.enqueue(TellOfPayouts.jobs(.issued, ids), in: transaction)
                }
            }
        }
    }

    private func record(_ id: Int64) async throws -> IssueRecord {
        let found = try await pool.withSession { session in
            try await IssueRows(session: session).issue(id)
        }
        guard let found else { throw PayoutError.notFound("there is no issue \(id)") }
        return found
    }

    /// Keeps other issuers of the run away.
    ///
    /// Were the connection lost with its lock, they would do
    /// each other no harm: every page looks at what it changes.
    private func alone(
        _ run: Int64, _ body: () async throws -> IssueRecord
    ) async throws -> IssueRecord {
        let keys: [Parameter] = [
            .int32(Self.lockKey), .int32(Int32(truncatingIfNeeded: run)),
        ]
        return try await pool.withSession { session in
            // The lock is the session's.
            try await session.requireOwnProcess(for: "issuing payouts")
            guard try await session.query(Self.lock, keys).bool(0, 0) else {
                throw PayoutError.conflict(
                    "somebody issues run \(run) now: wait for it to end, and look at it")
            }
            do {
                let issue = try await body()
                _ = try await session.query(Self.unlock, keys).affected
                return issue
            } catch {
                // A session that cannot even do that has lost the lock.
                _ = try? await session.query(Self.unlock, keys).affected
                throw error
            }
        }
    }
}
