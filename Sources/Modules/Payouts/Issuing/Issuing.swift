package import ErrandGregorian
package import Errand
import ErrandLedger
package import ErrandPostgres

/// Issues the payouts of a run as bank files and cheques.
///
/// First it freezes the issue: it assigns each pending payout to a file with a number and copies
/// its payee and bank details. Then it writes the files from the frozen data. At last it publishes
/// the issue and notifies the people, because incomplete files are not sent. A killed issue resumes
/// when it is started again.
package struct Issuing: Sendable {
    /// A step of progress.
    package enum Step: Sendable, Equatable {
        /// The number of payouts processed by this call.
        case frozen(Int)
        /// The name of a complete file.
        case wrote(String)
    }

    private let pool: Pool
    private let client: JobClient
    private let book: BankBook
    private let profile: IssueProfile
    private let actor: String
    private let pageSize: Int

    /// - Parameters:
    ///   - pool: a pool of at least two sessions, preferably three: one holds the claim, one reads
    ///     and one writes.
    ///   - book: opens the bank details.
    ///   - profile: the payout profile.
    ///   - actor: the operator, 1 to 200 characters.
    ///   - pageSize: payouts per transaction.
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

    private static let claim = "SELECT payouts.claim_issue($1, $2)"
    private static let release = "SELECT payouts.release_issue($1)"
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
    /// Payouts per statement that enqueues notices.
    private static let noticePage = 20_000

    /// Plans the files of a run; changes nothing.
    ///
    /// - Throws: ``PayoutError/refused(_:hint:)`` if the profile or a key is incomplete.
    package func plan(run: Int64) async throws -> IssuePlan {
        try await pool.withSession { session in
            try await IssuePlan.read(run: run, profile: profile, book: book, session)
        }
    }

    /// Issues the pending payouts of an approved or issued run; resumes an interrupted issue.
    ///
    /// - Parameters:
    ///   - folder: the existing parent folder of all issues.
    ///   - today: the date in the files of a new issue.
    ///   - isDone: called after each step; an error that it throws interrupts the issue.
    /// - Returns: the issue; its files are in the subfolder of its label.
    /// - Throws: ``PayoutError``; `FileError` if a file cannot be written.
    package func issue(
        run: Int64, in folder: String, today: CivilDate,
        isDone: (Step) throws -> Void = { _ in }
    ) async throws -> IssueRecord {
        try await alone(run) {
            // A frozen issue is not affected by newer pending payouts.
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

    /// Recreates the files of an issue, byte for byte, from its frozen data.
    ///
    /// - Parameter folder: the parent of the issue's folder.
    /// - Throws: `FileError.unexpectedContent` if the profile or this version would write other
    ///   bytes.
    package func remake(
        issue id: Int64, in folder: String, isDone: (Step) throws -> Void = { _ in }
    ) async throws -> IssueRecord {
        let issue = try await record(id)
        guard issue.publishedAt != nil else {
            throw PayoutError.conflict(
                "issue \(issue.label) is not complete: issue the run again to complete it")
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

    /// Publishes the issue and enqueues the notices.
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
                        [.int64(file.id), .int64(behind), .int64(Int64(Self.noticePage))]
                    ).int64Array(0, 0)
                    guard let last = ids.last else { break }
                    behind = last
                    try await client.enqueue(NotifyOfPayouts.jobs(.issued, ids), in: transaction)
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

    /// Runs the body while a session claims the run.
    ///
    /// The claim is a row that only the owner may write, and ends with the session at the latest.
    /// If the session is lost, concurrent issues are still safe: each page checks the rows that it
    /// changes.
    private func alone(
        _ run: Int64, _ body: () async throws -> IssueRecord
    ) async throws -> IssueRecord {
        try await pool.withSession { session in
            // The claim names the session's process.
            try await session.requireOwnProcess(for: "issuing payouts")
            _ = try await session.payoutQuery(Self.claim, [.int64(run), .text(actor)])
            do {
                let issue = try await body()
                _ = try await session.query(Self.release, [.int64(run)]).affected
                return issue
            } catch {
                // A session that cannot release its claim is lost, and the claim with it.
                _ = try? await session.query(Self.release, [.int64(run)]).affected
                throw error
            }
        }
    }
}
