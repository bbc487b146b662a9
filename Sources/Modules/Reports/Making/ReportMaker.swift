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
        /// The figures have changed by fewer people than a revision needs: the newest one stands;
        /// see ``RevisionRule``.
        case stands
    }

    private let root: String

    /// - Parameter root: the folder of `ERRAND_REPORTS_DIR`.
    package init(root: String) { self.root = root }

    struct Held {
        var head: ReportHead
        var created: CivilDate
        var revision: Int32
        var names: ReportNames?
        var groups: [GroupCell]?
        var trend: [TrendPeriod]?
        var sums: [String: String]?
    }

    /// Makes a report in a transaction, or checks the one that was made.
    ///
    /// The statements that come before a statement are made first.
    ///
    /// - Throws: ``ReportError/notFound(_:)``, ``ReportError/refused(_:hint:)`` for a report that
    ///   cannot be made any more, and `FileError` if a file cannot be written.
    package func make(
        _ report: Int64, now: Instant, in transaction: Transaction
    ) async throws -> Result {
        for row in try await transaction.query(Self.before, [.int64(report)]) {
            _ = try await makeOne(try row.int64(0), now: now, in: transaction)
        }
        return try await makeOne(report, now: now, in: transaction)
    }

    private static let before = "SELECT id FROM reports.statements_before($1) AS id"

    private func makeOne(
        _ report: Int64, now: Instant, in transaction: Transaction
    ) async throws -> Result {
        var held = try await hold(report, now: now, in: transaction)
        if held.head.kind == "statement" {
            return try await makeStatement(held, now: now, in: transaction)
        }
        if held.head.kind == "monthly", held.groups == nil {
            held.groups = try await groups(of: report, in: transaction)
        }
        return try await makeReport(held, now: now, in: transaction)
    }

    // MARK: Reading

    private static let hold = """
        SELECT reason, establishment_id, establishment, kind, period, first_day::text,
            (end_day - 1)::text AS last_day, time_zone, revision, names, groups, trend, files,
            extract(year FROM end_day)::int AS year, extract(month FROM end_day)::int AS month,
            extract(day FROM end_day)::int AS day
        FROM reports.hold($1, $2)
        """

    private func hold(
        _ report: Int64, now: Instant, in transaction: Transaction
    ) async throws -> Held {
        let rows = try await transaction.query(Self.hold, [.int64(report), .timestamp(now)])
        guard let row = rows.first else {
            throw ReportError.notFound("there is no report \(report)")
        }
        let head = ReportHead(
            id: report, establishment: try row.int64("establishment_id"),
            establishmentName: try row.text("establishment"), kind: try row.text("kind"),
            period: try row.text("period"), firstDay: try row.text("first_day"),
            lastDay: try row.text("last_day"), timeZone: try row.text("time_zone"))
        if let refusal = ReportError.refusal(try row.text("reason"), of: head) { throw refusal }
        func decoded<Value: Decodable>(_ column: String, _ type: Value.Type) throws -> Value? {
            try row.optionalJSON(column).map { try JSONDecoder().decode(type, from: Data($0)) }
        }
        return Held(
            head: head,
            created: CivilDate(
                year: Int(try row.int32("year")), month: Int(try row.int32("month")),
                day: Int(try row.int32("day"))),
            revision: try row.int32("revision"),
            names: try decoded("names", ReportNames.self),
            groups: try decoded("groups", [GroupCell].self),
            trend: try decoded("trend", [TrendPeriod].self),
            sums: try decoded("files", [String: String].self))
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

    private static let prints = """
        SELECT prints FROM reports.revisions WHERE report_id = $1 ORDER BY revision
        """

    private func published(
        _ report: Int64, in transaction: Transaction
    ) async throws -> [RevisionRule.Prints] {
        try await transaction.query(Self.prints, [.int64(report)]).map { row in
            try JSONDecoder().decode(RevisionRule.Prints.self, from: Data(try row.json(0)))
        }
    }

    private static let people = "SELECT reports.people_of($1, $2)"

    // MARK: Making

    private func makeReport(
        _ held: Held, now: Instant, in transaction: Transaction
    ) async throws -> Result {
        let published = try await published(held.head.id, in: transaction)
        var (isDrawnOtherwise, isDiscarded) = (false, false)
        while true {
            var stream = try await FigureStream(held, in: transaction)
            let verdict = try await RevisionRule.verdict(
                stream.content.prints, published: published
            ) { measure, rows in
                try await transaction.query(Self.people, [.text(measure), .int64Array(rows)])
                    .int64(0, 0)
            }
            if case .few = verdict {
                try await stream.close()
                return .stands
            }
            let isKnown = verdict == .same && !isDrawnOtherwise
            let revision = held.revision + (isKnown ? 0 : 1)
            if isKnown, let names = held.names { stream.content.use(names) }
            do {
                var folder = try ReportFolder(
                    root: root, head: held.head, revision: revision,
                    expecting: isKnown ? held.sums : nil)
                let shown = try await write(&stream, held, to: &folder)
                try await record(
                    folder, shown, revision, isKnown: isKnown, held, now: now, in: transaction)
                return isKnown ? .unchanged : revision == 1 ? .made : .revised
            } catch FileError.unexpectedContent(let file) where isKnown {
                // Other figures of the same people are not published either.
                if file.hasSuffix(ReportCSV.name) { return .stands }
                // This program draws other pages.
                isDrawnOtherwise = true
            } catch FileError.otherContent where !isKnown && !isDiscarded {
                isDiscarded = true
                try discard(held, revision)
            }
        }
    }

    /// Streams the figures into both files: texts are not kept.
    private func write(
        _ stream: inout FigureStream, _ held: Held, to folder: inout ReportFolder
    ) async throws -> RevisionContent {
        let trend = stream.content.trend
        stream.content.finish()
        let draft = try folder.draft(ReportCSV.name)
        let csv = try ReportCSV(draft)
        var pdf: ReportPDF
        do {
            try csv.write(stream.content)
            pdf = try ReportPDF(stream.content, created: held.created)
            while let figure = try await stream.next() {
                let text = figure.name ?? ""
                try csv.write(text, of: figure, stream.content)
                pdf.add(text, of: figure)
            }
        } catch {
            try? await stream.close()
            throw error
        }
        try await stream.close()
        try folder.publish(draft, as: ReportCSV.name)
        try folder.publish(try pdf.finish(), as: ReportPDF.name)
        return RevisionContent(
            headline: stream.content.headline, names: stream.content.shownNames,
            groups: held.groups, trend: trend, prints: stream.content.prints)
    }

    /// A statement that was made is made of the same lines again.
    private func makeStatement(
        _ held: Held, now: Instant, in transaction: Transaction
    ) async throws -> Result {
        let rows = try await transaction.query(Self.lines, [.int64(held.head.id)])
        var head = held.head
        if let names = held.names { head.establishmentName = names.establishment }
        let shown = RevisionContent(
            names: ReportNames(establishment: head.establishmentName, branches: []),
            lines: try rows.map(StatementLine.init),
            knownID: try rows.first?.optionalInt64("known_id") ?? 0)
        let lines = shown.lines ?? []
        func write(_ revision: Int32, isKnown: Bool) async throws {
            var folder = try ReportFolder(
                root: root, head: head, revision: revision, expecting: isKnown ? held.sums : nil)
            try folder.publish(StatementFiles.csv(head, lines), as: StatementFiles.csvName)
            try folder.publish(
                try StatementFiles.pdf(head, lines, created: held.created),
                as: StatementFiles.pdfName)
            try await record(
                folder, shown, revision, isKnown: isKnown, held, now: now, in: transaction)
        }
        if held.revision > 0 {
            do {
                try await write(held.revision, isKnown: true)
                return .unchanged
            } catch FileError.unexpectedContent {
                // This program draws other files.
            }
        }
        let revision = held.revision + 1
        do { try await write(revision, isKnown: false) } catch FileError.otherContent {
            try discard(held, revision)
            try await write(revision, isKnown: false)
        }
        return revision == 1 ? .made : .revised
    }

    private static let lines = """
        SELECT currency, line, source, title, count, each, amount,
            (SELECT max(t.id) FROM ledger.transactions t) AS known_id
        FROM reports.statement_lines($1)
        """

    private func discard(_ held: Held, _ revision: Int32) throws {
        try ReportFolder.discard(
            root: root, folder: ReportFolder.name(of: held.head, revision: revision))
    }

    // MARK: Recording

    private static let record = """
        SELECT reports.record_revision($1, $2, $3, $4, $5, $6,
            ARRAY(SELECT decode(s, 'hex') FROM unnest($7::text[]) WITH ORDINALITY AS u (s, n)
                ORDER BY n), $8, $9)
        """

    /// Completes the files of a revision, and records one that is not known.
    private func record(
        _ folder: ReportFolder, _ shown: RevisionContent, _ revision: Int32, isKnown: Bool,
        _ held: Held, now: Instant, in transaction: Transaction
    ) async throws {
        let manifest = try folder.finish(held.head, revision: revision)
        if isKnown { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try await transaction.query(
            Self.record,
            [
                .int64(held.head.id), .int32(revision), .text(folder.name), .bytes(manifest),
                .textArray(folder.files.map(\.name)),
                .int64Array(folder.files.map { Int64($0.bytes) }),
                .textArray(folder.files.map(\.sha256)),
                .json(Array(try encoder.encode(shown))), .timestamp(now),
            ])
    }
}
