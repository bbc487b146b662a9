package import ErrandGregorian
package import ErrandLedger
package import ErrandPostgres

/// An issue: the files of a run that were created together.
package struct IssueRecord: Sendable {
    package var id: Int64
    package var runID: Int64
    package var quarter: Quarter
    /// The number of the issue in its run, from 1.
    package var number: Int
    /// The date in the files.
    package var issuedOn: CivilDate
    /// The day on which the money arrives.
    package var payDate: CivilDate
    /// When its payouts were assigned to files, which fixes their content.
    package var frozenAt: Instant?
    /// When all files were written.
    package var publishedAt: Instant?
    /// The number of payouts held because no file accepts them.
    package var held: Int
    package var actor: String
    package var files: [IssueFileRecord] = []

    /// The name of the folder, such as `2026-Q3-1`.
    package var label: String { "\(quarter)-\(number)" }
}

/// The payouts of an issue by one method in one currency.
package struct IssueFileRecord: Sendable {
    package var id: Int64
    package var method: PayoutMethod
    package var currency: Currency
    /// The number in its series; of cheques, the first number.
    package var number: Int64
    package var series: String
    package var payouts: Int
    /// Minor units.
    package var amount: Int64
    /// The written files; several for cheques.
    package var outputs: [OutputRecord] = []

    /// The file creation number of an AFT file, 1 to 9999, then 1 again.
    package var creationNumber: Int { Int((number - 1) % 9_999) + 1 }

    /// The file ID modifier that distinguishes Nacha files of a day: A to Z, then 0 to 9.
    package var modifier: Character {
        let all = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        return all[Int((number - 1) % Int64(all.count))]
    }
}

/// A written file.
package struct OutputRecord: Sendable, Equatable {
    package var name: String
    package var bytes: Int
    package var sha256: [UInt8]
}

/// Reads issues.
package struct IssueRows: Sendable {
    package let session: Session

    package init(session: Session) { self.session = session }

    private static let columns = """
        i.id, i.run_id, r.quarter, i.number, i.issued_on::text AS issued_on,
        i.pay_date::text AS pay_date, i.frozen_at, i.published_at, i.held, i.actor
        """
    private static let one = """
        SELECT \(columns) FROM payouts.issues i JOIN payouts.runs r ON r.id = i.run_id
        WHERE i.id = $1
        """
    private static let ofRun = """
        SELECT \(columns) FROM payouts.issues i JOIN payouts.runs r ON r.id = i.run_id
        WHERE i.run_id = $1 ORDER BY i.number
        """
    private static let files = """
        SELECT f.id, f.method::text AS method, f.currency, f.number, f.series, f.payouts, f.amount
        FROM payouts.files f WHERE f.issue_id = $1 ORDER BY f.id
        """
    private static let outputs = """
        SELECT o.file_id, o.name, o.bytes, o.sha256 FROM payouts.outputs o
        JOIN payouts.files f ON f.id = o.file_id WHERE f.issue_id = $1 ORDER BY o.file_id, o.name
        """

    /// Returns an issue with its files; nil if the id is unknown.
    package func issue(_ id: Int64) async throws -> IssueRecord? {
        guard let row = try await session.query(Self.one, [.int64(id)]).first else { return nil }
        return try await complete(row)
    }

    /// Returns the issues of a run with their files, oldest first.
    package func issues(ofRun id: Int64) async throws -> [IssueRecord] {
        var issues: [IssueRecord] = []
        for row in try await session.query(Self.ofRun, [.int64(id)]) {
            issues.append(try await complete(row))
        }
        return issues
    }

    private func complete(_ row: Row) async throws -> IssueRecord {
        var issue = try Self.record(row)
        let answers = try await session.pipeline(
            [Self.files, Self.outputs].map { Statement($0, [.int64(issue.id)]) })
        issue.files = try answers[0].map(Self.file)
        for row in answers[1] {
            let id = try row.int64("file_id")
            guard let place = issue.files.firstIndex(where: { $0.id == id }) else { continue }
            issue.files[place].outputs.append(
                OutputRecord(
                    name: try row.text("name"), bytes: Int(try row.int64("bytes")),
                    sha256: try row.bytes("sha256")))
        }
        return issue
    }

    private static func record(_ row: Row) throws -> IssueRecord {
        let name = try row.text("quarter")
        guard let quarter = Quarter(name) else {
            throw PostgresError.decoding("\(name) is not a quarter")
        }
        return IssueRecord(
            id: try row.int64("id"), runID: try row.int64("run_id"), quarter: quarter,
            number: Int(try row.int32("number")), issuedOn: try row.civilDate("issued_on"),
            payDate: try row.civilDate("pay_date"),
            frozenAt: try row.optionalTimestamp("frozen_at"),
            publishedAt: try row.optionalTimestamp("published_at"),
            held: Int(try row.int64("held")), actor: try row.text("actor"))
    }

    private static func file(_ row: Row) throws -> IssueFileRecord {
        IssueFileRecord(
            id: try row.int64("id"), method: try row.state("method"),
            currency: try row.currency(), number: try row.int64("number"),
            series: try row.text("series"), payouts: Int(try row.int64("payouts")),
            amount: try row.int64("amount"))
    }
}
