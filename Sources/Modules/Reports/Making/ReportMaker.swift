import ErrandCrypto
import ErrandDurableFiles
import ErrandGregorian
import FoundationEssentials
package import ErrandPostgres

/// Makes the files of one report.
///
/// All in one transaction that holds the report's row: a report that two make at once is made once.
/// The files are published before the rows are committed. After a kill between both, the next
/// attempt finds the files and only adds the rows; files whose content has changed meanwhile are
/// discarded, since no row knows them. Files of a known revision that are missing are written
/// again.
package struct ReportMaker: Sendable {
    /// What became of a report.
    package enum Result: String, Sendable {
        /// The first revision was made.
        case made
        /// The figures have changed: another revision was made.
        case revised
        /// The figures are those of the newest revision, whose files are all there.
        case unchanged
    }

    /// Figures per fetch.
    private static let page = 5_000

    private let root: String

    /// - Parameter root: the folder of `ERRAND_REPORTS_DIR`.
    package init(root: String) { self.root = root }

    private struct Held {
        var head: ReportHead
        var created: CivilDate
        var revision: Int32
        var groups: [GroupCell]?
        var sums: [String: String]?
    }

    private struct Written {
        var folder: String
        var files: [ReportFolder.File]
        var manifest: [UInt8]
        var headline: [UInt8]?
        var groups: [GroupCell]?
    }

    /// Makes a report in a transaction, or checks the one that was made.
    ///
    /// - Throws: ``ReportError/notFound(_:)``, and `FileError` if a file cannot be written.
    package func make(
        _ report: Int64, now: Instant, in transaction: Transaction
    ) async throws -> Result {
        var held = try await hold(report, in: transaction)
        if held.head.kind == "monthly", held.groups == nil {
            held.groups = try await groups(of: report, in: transaction)
        }
        if held.revision > 0 {
            do {
                _ = try await write(held, held.revision, expecting: held.sums, in: transaction)
                return .unchanged
            } catch FileError.unexpectedContent {
                // The figures have changed since.
            }
        }
        let revision = held.revision + 1
        let written: Written
        do {
            written = try await write(held, revision, expecting: nil, in: transaction)
        } catch FileError.otherContent {
            try ReportFolder.discard(
                root: root, folder: ReportFolder.name(of: held.head, revision: revision))
            written = try await write(held, revision, expecting: nil, in: transaction)
        }
        try await record(written, revision, of: report, now: now, in: transaction)
        return revision == 1 ? .made : .revised
    }

    // MARK: Reading

    private static let hold = """
        SELECT establishment_id, establishment, kind, period, first_day::text,
            (end_day - 1)::text, time_zone, revision, groups, files,
            extract(year FROM end_day)::int, extract(month FROM end_day)::int,
            extract(day FROM end_day)::int
        FROM reports.hold($1)
        """

    private func hold(_ report: Int64, in transaction: Transaction) async throws -> Held {
        guard let row = try await transaction.query(Self.hold, [.int64(report)]).first else {
            throw ReportError.notFound("there is no report \(report)")
        }
        let head = ReportHead(
            id: report, establishment: try row.int64(0), establishmentName: try row.text(1),
            kind: try row.text(2), period: try row.text(3), firstDay: try row.text(4),
            lastDay: try row.text(5), timeZone: try row.text(6))
        let decoder = JSONDecoder()
        return Held(
            head: head,
            created: CivilDate(
                year: Int(try row.int32(10)), month: Int(try row.int32(11)),
                day: Int(try row.int32(12))),
            revision: try row.int32(7),
            groups: try row.optionalJSON(8).map {
                try decoder.decode([GroupCell].self, from: Data($0))
            },
            sums: try row.optionalJSON(9).map {
                try decoder.decode([String: String].self, from: Data($0))
            })
    }

    private static let groups =
        "SELECT dimension, branch_id, label, people FROM reports.groups_of($1)"

    private func groups(
        of report: Int64, in transaction: Transaction
    ) async throws -> [GroupCell] {
        let cells = try await transaction.query(Self.groups, [.int64(report)]).map { row in
            GroupCell(
                dimension: try row.text(0), branch: try row.int64(1), label: try row.text(2),
                people: try row.int64(3))
        }
        return ["age", "postal"].flatMap { GroupSuppression.published(cells, dimension: $0) }
    }

    // MARK: Writing

    private func write(
        _ held: Held, _ revision: Int32, expecting sums: [String: String]?,
        in transaction: Transaction
    ) async throws -> Written {
        var folder = try ReportFolder(
            root: root, head: held.head, revision: revision, expecting: sums)
        var headline: [UInt8]?
        if held.head.kind == "statement" {
            let lines = try await transaction.query(
                "SELECT * FROM reports.statement_lines($1)", [.int64(held.head.id)]
            ).map(StatementLine.init)
            try folder.publish(StatementFiles.csv(held.head, lines), as: StatementFiles.csvName)
            try folder.publish(
                try StatementFiles.pdf(held.head, lines, created: held.created),
                as: StatementFiles.pdfName)
        } else {
            headline = try await writeReport(held, to: &folder, in: transaction)
        }
        let manifest = try folder.finish(held.head, revision: revision)
        return Written(
            folder: folder.name, files: folder.files, manifest: manifest, headline: headline,
            groups: held.groups)
    }

    private static let declare = """
        DECLARE figures NO SCROLL CURSOR FOR SELECT \(Figure.columns) FROM reports.figures($1)
        """

    /// Streams the figures into both files: texts are not kept.
    private func writeReport(
        _ held: Held, to folder: inout ReportFolder, in transaction: Transaction
    ) async throws -> [UInt8] {
        let draft = try folder.draft(ReportCSV.name)
        let csv = try ReportCSV(draft)
        var content = ReportContent(held.head)
        content.groups = held.groups ?? []
        var pdf: ReportPDF?
        func begin() throws -> ReportPDF {
            content.finish()
            try csv.write(content)
            return try ReportPDF(content, created: held.created)
        }
        try await transaction.query(Self.declare, [.int64(held.head.id)])
        while true {
            let rows = try await transaction.query("FETCH \(Self.page) FROM figures")
            for row in rows {
                let figure = try Figure(row)
                if content.add(figure) { continue }
                // The first text: all figures are there.
                var drawn = try pdf ?? begin()
                let text = TextMask.masked(figure.name ?? "")
                try csv.write(text, of: figure, content)
                drawn.add(text, of: figure)
                pdf = drawn
            }
            if rows.count < Self.page { break }
        }
        try await transaction.query("CLOSE figures")
        let drawn = try pdf ?? begin()
        try folder.publish(draft, as: ReportCSV.name)
        try folder.publish(try drawn.finish(), as: ReportPDF.name)
        return content.headline
    }

    private static let record = """
        SELECT reports.record_revision($1, $2, $3, $4, $5, $6,
            ARRAY(SELECT decode(s, 'hex') FROM unnest($7::text[]) WITH ORDINALITY AS u (s, n)
                ORDER BY n), $8, $9, $10)
        """

    private func record(
        _ written: Written, _ revision: Int32, of report: Int64, now: Instant,
        in transaction: Transaction
    ) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let groups = try written.groups.map { Array(try encoder.encode($0)) }
        try await transaction.query(
            Self.record,
            [
                .int64(report), .int32(revision), .text(written.folder),
                .bytes(written.manifest), .textArray(written.files.map(\.name)),
                .int64Array(written.files.map { Int64($0.bytes) }),
                .textArray(written.files.map(\.sha256)), .optionalJSON(written.headline),
                .optionalJSON(groups), .timestamp(now),
            ])
    }
}
