package import ErrandPostgres

/// A report, without its figures.
package struct ReportRecord: Sendable {
    package var id: Int64
    package var establishment: Int64
    package var establishmentName: String
    package var kind: String
    package var period: String
    package var timeZone: String
    package var dueAt: Instant
    package var madeAt: Instant?
    package var revision: Int32
    package var sendings: Int32
    /// Relative to `ERRAND_REPORTS_DIR`; nil until it is made.
    package var folder: String?

    static let columns = """
        r.id, r.establishment_id, e.name, r.kind::text, r.period, r.time_zone, r.due_at, r.made_at,
        r.revision, r.sendings, v.folder
        """
    static let tables = """
        reports.reports r
        JOIN establishments.establishments e ON e.id = r.establishment_id
        LEFT JOIN reports.revisions v ON v.report_id = r.id AND v.revision = r.revision
        """

    init(_ row: Row) throws {
        id = try row.int64(0)
        establishment = try row.int64(1)
        establishmentName = try row.text(2)
        kind = try row.text(3)
        period = try row.text(4)
        timeZone = try row.text(5)
        dueAt = try row.timestamp(6)
        madeAt = try row.optionalTimestamp(7)
        revision = try row.int32(8)
        sendings = try row.int32(9)
        folder = try row.optionalText(10)
    }
}

/// A file of a revision.
package struct ReportFileRecord: Sendable {
    package var revision: Int32
    package var folder: String
    package var name: String
    package var bytes: Int64
    package var sha256: [UInt8]
    package var manifest: [UInt8]

    init(_ row: Row) throws {
        revision = try row.int32(0)
        folder = try row.text(1)
        name = try row.text(2)
        bytes = try row.int64(3)
        sha256 = try row.bytes(4)
        manifest = try row.bytes(5)
    }
}

/// Reads reports and payments.
package struct ReportRows: Sendable {
    private let session: Session

    package init(session: Session) { self.session = session }

    private static let page = """
        SELECT \(ReportRecord.columns) FROM \(ReportRecord.tables)
        WHERE ($1::bigint IS NULL OR r.establishment_id = $1)
          AND ($2::text IS NULL OR r.period = $2) AND (NOT $3 OR r.revision = 0)
          AND r.id < coalesce($4, 9223372036854775807)
        ORDER BY r.id DESC LIMIT $5
        """

    /// Returns one page of reports, newest first.
    package func page(
        establishment: Int64?, period: String?, isLate: Bool, behind: Int64?, limit: Int
    ) async throws -> [ReportRecord] {
        try await session.query(
            Self.page,
            [
                .optional(establishment), .optional(period), .bool(isLate), .optional(behind),
                .int64(Int64(limit)),
            ]
        ).map(ReportRecord.init)
    }

    private static let one = """
        SELECT \(ReportRecord.columns) FROM \(ReportRecord.tables) WHERE r.id = $1
        """

    package func report(_ id: Int64) async throws -> ReportRecord? {
        try await session.query(Self.one, [.int64(id)]).first.map(ReportRecord.init)
    }

    private static let files = """
        SELECT f.revision, v.folder, f.name, f.bytes, f.sha256, v.manifest_sha256
        FROM reports.revisions v
        JOIN reports.files f ON f.report_id = v.report_id AND f.revision = v.revision
        WHERE v.report_id = $1 ORDER BY f.revision, f.name
        """

    /// The files of all revisions of a report.
    package func files(of report: Int64) async throws -> [ReportFileRecord] {
        try await session.query(Self.files, [.int64(report)]).map(ReportFileRecord.init)
    }

    private static let health = """
        SELECT
            (SELECT count(*) FROM reports.reports r
                WHERE r.revision = 0 AND r.due_at < $1::timestamptz - interval '6 hours'
                  AND reports.is_kept(r.establishment_id, r.kind, r.from_at, r.until_at, $1)
                  AND (r.kind <> 'statement'
                    OR NOT reports.is_stated(r.establishment_id, r.first_day))) AS late,
            (SELECT count(*) FROM reports.settings s
                JOIN establishments.establishments e ON e.id = s.establishment_id
                WHERE e.closed_at IS NULL AND NOT EXISTS (SELECT FROM reports.contacts c
                    WHERE c.establishment_id = s.establishment_id)) AS silent,
            (SELECT count(DISTINCT s.establishment_id) FROM surveys.surveys s
                WHERE s.closed_at IS NULL AND NOT EXISTS (SELECT FROM reports.settings k
                    WHERE k.establishment_id = s.establishment_id)) AS unset,
            (SELECT count(*) FROM ledger.accounts a WHERE a.kind = 'establishment'
                -- Before its postings are summed: most owe nothing, or not for long.
                AND ledger.balance(a.id) < 0 AND reports.overdue_at(a.id, $1) > 0) AS overdue
        """

    /// What doctor says.
    package struct Health: Sendable {
        /// Reports that were due six hours ago and can still be made.
        package var late: Int64
        /// Establishments that get reports and have no contact.
        package var silent: Int64
        /// Establishments with an open survey that get no reports.
        package var unset: Int64
        /// Accounts that owe an amount for more than 30 days.
        package var overdue: Int64
    }

    package func health(now: Instant) async throws -> Health {
        let rows = try await session.query(Self.health, [.timestamp(now)])
        return Health(
            late: try rows.int64(0, 0), silent: try rows.int64(0, 1), unset: try rows.int64(0, 2),
            overdue: try rows.int64(0, 3))
    }

    private static let newest = """
        SELECT f.revision, v.folder, f.name, f.bytes, f.sha256, v.manifest_sha256
        FROM (SELECT r.id, r.revision FROM reports.reports r WHERE r.revision > 0
            ORDER BY r.id DESC LIMIT $1) AS r
        JOIN reports.revisions v ON v.report_id = r.id AND v.revision = r.revision
        JOIN reports.files f ON f.report_id = r.id AND f.revision = r.revision
        """

    /// The files of the newest reports.
    package func newestFiles(limit: Int) async throws -> [ReportFileRecord] {
        try await session.query(Self.newest, [.int64(Int64(limit))]).map(ReportFileRecord.init)
    }

    private static let contacts = """
        SELECT email, locale, added_at FROM reports.contacts_of($1)
        """

    /// The contacts of an establishment: address, locale and when they were added.
    package func contacts(
        of establishment: Int64
    ) async throws -> [(email: String, locale: String, addedAt: Instant)] {
        try await session.query(Self.contacts, [.int64(establishment)]).map {
            (try $0.text(0), try $0.text(1), try $0.timestamp(2))
        }
    }

    private static let payments = """
        SELECT reference, currency, amount, paid_at, actor, transaction_id, corrected_at, correction
        FROM reports.payments WHERE establishment_id = $1
        ORDER BY paid_at DESC, reference LIMIT 1000
        """

    /// The payments of an establishment, newest first.
    package func payments(of establishment: Int64) async throws -> [PaymentRecord] {
        try await session.query(Self.payments, [.int64(establishment)]).map(PaymentRecord.init)
    }

    private static let owed = """
        SELECT a.currency, -ledger.balance(a.id), reports.overdue_at(a.id, $2)
        FROM ledger.accounts a WHERE a.owner = $1 AND a.kind = 'establishment' ORDER BY a.currency
        """

    /// What an establishment owes now, and for more than 30 days, by currency, in minor units.
    package func owed(
        by establishment: Int64, now: Instant
    ) async throws -> [(currency: String, owed: Int64, overdue: Int64)] {
        try await session.query(Self.owed, [.int64(establishment), .timestamp(now)]).map {
            (try $0.text(0), try $0.int64(1), try $0.int64(2))
        }
    }

    private static let establishments = """
        SELECT s.establishment_id FROM reports.settings s
        JOIN establishments.establishments e ON e.id = s.establishment_id
        CROSS JOIN reports.days_of($1::text::reports.report_kind, $2) AS d
        WHERE d.end_day::timestamp AT TIME ZONE s.time_zone > s.since
          AND (e.closed_at IS NULL OR e.closed_at
            > d.first_day::timestamp AT TIME ZONE s.time_zone - interval '92 days')
        ORDER BY 1
        """

    /// The establishments that get reports of a period, as reports.open_due() has it.
    package func establishments(kind: String, period: String) async throws -> [Int64] {
        try await session.query(Self.establishments, [.text(kind), .text(period)])
            .map { try $0.int64(0) }
    }
}

/// A payment of an establishment.
package struct PaymentRecord: Sendable {
    package var reference: String
    package var currency: String
    package var amount: Int64
    package var paidAt: Instant
    package var actor: String
    package var transaction: Int64
    package var correctedAt: Instant?
    package var correction: String?

    init(_ row: Row) throws {
        reference = try row.text(0)
        currency = try row.text(1)
        amount = try row.int64(2)
        paidAt = try row.timestamp(3)
        actor = try row.text(4)
        transaction = try row.int64(5)
        correctedAt = try row.optionalTimestamp(6)
        correction = try row.optionalText(7)
    }
}
