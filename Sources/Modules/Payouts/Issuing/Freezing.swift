import Errand
import ErrandPostgres

/// Assigns the pending payouts of an issue to files, page by page, each in one transaction.
///
/// A page is read and checked while the previous one is written. If its rows change in between,
/// the write fails and the page is read again.
struct Freezing: Sendable {
    let pool: Pool
    let client: JobClient
    let book: BankBook
    let profile: IssueProfile
    let actor: String
    let issue: IssueRecord
    let pageSize: Int

    /// A checked page: payouts by file, and payouts to hold.
    private struct Page: Sendable {
        struct Group: Sendable {
            var method: PayoutMethod
            var currency: String
            var series: String
            var first: Int64
            var ids: [Int64] = []
            var payees: [Instant?] = []
            var details: [Instant?] = []
        }

        var last: Int64?
        var groups: [Group] = []
        var held: [Int64] = []
        var reasons: [String] = []
    }

    /// Maximum attempts to write a page that others change concurrently.
    private static let attempts = 20

    // Lateral lookups by person: the planner might read all people for a join.
    private static let pending = """
        SELECT p.id, p.person_id, p.amount, p.currency, p.method::text AS method, y.name,
            coalesce(y.address, '{}') AS address, y.updated_at, d.sealed, d.country, d.given_at
        FROM (
            SELECT * FROM payouts.payouts q
            WHERE q.run_id = $1 AND q.state = 'pending' AND q.id > $2 AND q.id <= $3
            ORDER BY q.id LIMIT $4
        ) p
        LEFT JOIN LATERAL (
            SELECT * FROM payouts.payees n WHERE n.person_id = p.person_id OFFSET 0) y ON true
        LEFT JOIN LATERAL (
            SELECT * FROM payouts.bank_details b
            WHERE b.person_id = p.person_id AND b.refused_at IS NULL OFFSET 0) d ON true
        ORDER BY p.id
        """
    private static let begun = """
        SELECT coalesce(max(last.id), 0) FROM payouts.files f, LATERAL (
            SELECT max(i.payout_id) AS id FROM payouts.items i WHERE i.file_id = f.id) last
        WHERE f.issue_id = $1
        """
    // Sorted by account, whose balances are locked.
    private static let hold = """
        SELECT h.id, payouts.hold(h.id, $1, h.reason, false) FROM (
            SELECT p.id, a.reason FROM unnest($2::bigint[], $3::text[]) AS a (id, reason)
            JOIN payouts.payouts p ON p.id = a.id WHERE p.state = 'pending'
            ORDER BY p.account_id
        ) h
        """
    private static let countHeld = "UPDATE payouts.issues SET held = held + $2 WHERE id = $1"
    private static let freeze = """
        SELECT payouts.freeze($1, $2::payouts.method, $3, $4, $5, $6, $7, $8, $9)
        """
    private static let end = """
        UPDATE payouts.issues SET frozen_at = clock_timestamp()
        WHERE id = $1 AND frozen_at IS NULL
        """

    /// Freezes the issue; resumes after an interruption and changes nothing if it is frozen.
    ///
    /// Ids and cheque numbers ascend from page to page. The next issue includes payouts that are
    /// released meanwhile before the current page.
    /// - Parameter isDone: called after each page with the number of payouts processed.
    func run(isDone: (Int) throws -> Void) async throws {
        guard issue.frozenAt == nil else { return }
        var behind = try await pool.withSession { session in
            try await session.query(Self.begun, [.int64(issue.id)]).int64(0, 0)
        }
        var page = try await read(behind: behind, upTo: .max)
        var done = 0
        while let last = page.last {
            try Task.checkCancellation()
            async let next = read(behind: last, upTo: .max)
            try await store(page, behind: behind, upTo: last)
            done += page.groups.reduce(page.held.count) { $0 + $1.ids.count }
            try isDone(done)
            behind = last
            page = try await next
        }
        _ = try await pool.withSession { session in
            try await session.query(Self.end, [.int64(issue.id)]).affected
        }
    }

    private func store(_ first: Page, behind: Int64, upTo last: Int64) async throws {
        var page = first
        for attempt in 1...Self.attempts {
            do {
                return try await store(page)
            } catch {
                guard attempt < Self.attempts, Self.isRace(error) else { throw error }
            }
            page = try await read(behind: behind, upTo: last)
        }
    }

    private func store(_ page: Page) async throws {
        let issueID = Parameter.int64(issue.id)
        try await pool.transaction { transaction in
            if !page.held.isEmpty {
                try await transaction.payoutQuery(
                    Self.hold, [.text(actor), .int64Array(page.held), .textArray(page.reasons)])
                try await transaction.query(
                    Self.countHeld, [issueID, .int64(Int64(page.held.count))])
                try await client.enqueue(NotifyOfPayouts.jobs(.held, page.held), in: transaction)
            }
            for group in page.groups {
                try await transaction.payoutQuery(
                    Self.freeze,
                    [
                        issueID, .text(group.method.rawValue), .text(group.currency),
                        .text(group.series), .int64(group.first), .int64Array(group.ids),
                        .timestampArray(group.payees), .timestampArray(group.details),
                        .text(actor),
                    ])
            }
        }
    }

    /// Whether a concurrent transaction caused the error, so that a retry may succeed.
    private static func isRace(_ error: any Error) -> Bool {
        let state = (error as? PostgresError)?.sqlState
        return state == "40001" || state == "40P01"
    }

    private func read(behind: Int64, upTo last: Int64) async throws -> Page {
        let rows = try await pool.withSession { session in
            try await session.query(
                Self.pending,
                [
                    .int64(issue.runID), .int64(behind), .int64(last), .int64(Int64(pageSize)),
                ])
        }
        let choice = MethodChoice(profile: profile)
        var check = PayoutCheck(profile: profile, book: book, issue: issue)
        var page = Page()
        for row in rows {
            let payout = try Self.payout(row)
            page.last = payout.id
            let method = choice.method(
                asked: payout.method, country: payout.country, currency: payout.currency)
            if let problem = try check.problem(of: payout, by: method) {
                page.held.append(payout.id)
                page.reasons.append(String(problem.prefix(500)))
            } else {
                try add(payout, by: method, to: &page)
            }
        }
        return page
    }

    private func add(
        _ payout: PendingPayout, by method: PayoutMethod, to page: inout Page
    ) throws {
        let place: Int
        let known = page.groups.firstIndex {
            $0.method == method && $0.currency == payout.currency
        }
        if let known {
            place = known
        } else {
            guard let series = profile.series(of: method, payout.currency) else {
                throw PayoutError.refused(
                    "the payout profile has no "
                        + IssueProfile.key(of: method, payout.currency),
                    hint: "Add it to the profile and issue the run again.")
            }
            place = page.groups.count
            page.groups.append(
                Page.Group(
                    method: method, currency: payout.currency, series: series.name,
                    first: series.first))
        }
        page.groups[place].ids.append(payout.id)
        page.groups[place].payees.append(payout.payeeAt)
        page.groups[place].details.append(method == .cheque ? nil : payout.detailsAt)
    }

    private static func payout(_ row: Row) throws -> PendingPayout {
        let method: PayoutMethod? =
            try row.optionalText("method") == nil ? nil : try row.state("method")
        return PendingPayout(
            id: try row.int64("id"), person: try row.int64("person_id"),
            amount: try row.int64("amount"), currency: try row.text("currency"), method: method,
            payee: try row.optionalText("name"), address: try row.textArray("address"),
            payeeAt: try row.optionalTimestamp("updated_at"),
            sealed: try row.optionalBytes("sealed"), country: try row.optionalText("country"),
            detailsAt: try row.optionalTimestamp("given_at"))
    }
}
