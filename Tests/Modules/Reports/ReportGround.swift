import Errand
import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

/// Establishment 7 in Toronto with branches 3 and 4, a survey, people who share, and a folder.
struct ReportGround: Sendable {
    let pool: Pool
    let session: Session
    let root: String
    let maker: ReportMaker
    let kinds: JobKinds

    /// 1 November 2026 in Toronto.
    static let month = "2026-10"

    init() async throws {
        let database = try TestDatabase.here()
        pool = database.pool(6)
        session = database.session()
        let folder = try temporaryFolder()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: folder.path)
        root = folder.appending(path: "reports").path
        maker = ReportMaker(root: root)
        var kinds = JobKinds()
        ReportKinds.add(to: &kinds, folder: root)
        self.kinds = kinds
        try await session.script(
            """
            SELECT establishments.put_establishment(7, 'Café Rachel');
            SELECT establishments.put_branch(3, 7, 'Rue Rachel', -73.57, 45.52);
            SELECT establishments.put_branch(4, 7, 'Rue Ontario', -73.55, 45.53);
            SELECT reports.put_settings(7, 'America/Toronto');
            UPDATE reports.settings SET since = '2026-09-15Z';
            INSERT INTO surveys.surveys (id, establishment_id) VALUES (12, 7);
            INSERT INTO surveys.versions (survey_id, version, title, minutes, expires_days, paid,
                cut, currency) VALUES (12, 1, 'How was it?', 5, 14, 500, 300, 'CAD');
            INSERT INTO surveys.questions VALUES
                (12, 1, 1, 'rating', 'Overall?', NULL, true),
                (12, 1, 2, 'choice', 'Why?', '{food,price,staff}', false),
                (12, 1, 3, 'many', 'What?', '{a,b,c,d}', false),
                (12, 1, 4, 'yes_no', 'Again?', NULL, true),
                (12, 1, 5, 'text', 'Comments', NULL, false);
            """)
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    /// People from 1 to a number, who share.
    func people(_ count: Int) async throws {
        try await session.script(
            """
            INSERT INTO people.people (id, email, birth_date, age_verified_at)
            SELECT n, 'person' || n || '@example.org', '1990-05-17', '2026-01-01Z'
            FROM generate_series(1, \(count)) AS n;
            INSERT INTO people.consents (person_id, what, version, given_at)
            SELECT n, 'sharing', '1', '2026-01-01Z' FROM generate_series(1, \(count)) AS n;
            """)
    }

    /// A completion in October, with answers as JSON.
    @discardableResult
    func complete(
        _ person: Int, _ answers: String = #"{"1": 4, "4": true}"#, branch: Int? = 3,
        at: String = "2026-10-10T12:00Z", state: String = "counted", version: Int = 1
    ) async throws -> Int64 {
        try await session.query(
            """
            WITH i AS (
                INSERT INTO surveys.invitations (survey_id, version, establishment_id, branch_id,
                    person_id, source, purchased_at, invited_at, expires_at, state, ended_at)
                VALUES (12, \(version), 7, \(branch.map(String.init) ?? "NULL"), \(person),
                    'receipt', '\(at)', '\(at)', timestamptz '\(at)' + interval '14 days',
                    'completed', '\(at)')
                RETURNING *)
            INSERT INTO surveys.completions (invitation_id, survey_id, version, establishment_id,
                branch_id, person_id, completed_at, seconds_spent, answers, state)
            SELECT i.id, i.survey_id, i.version, 7, i.branch_id, i.person_id, i.invited_at, 180, $1,
                '\(state)' FROM i RETURNING invitation_id
            """, [.json(Array(answers.utf8))]
        ).int64(0, 0)
    }

    /// Opens a report of a period.
    func open(_ kind: String = "monthly", _ period: String = month) async throws -> Int64 {
        try await session.query(
            "SELECT reports.open_report(7, $1::text::reports.report_kind, $2, '2027-06-01Z')",
            [.text(kind), .text(period)]
        ).int64(0, 0)
    }

    /// A time such as 2026-12-01T00:00:00Z.
    static func instant(_ text: String) throws -> Instant {
        Instant(date: try Date(text, strategy: .iso8601))
    }

    /// Makes a report, at a time when everything is kept.
    @discardableResult
    func make(
        _ report: Int64, at: String = "2026-12-01T00:00:00Z"
    ) async throws -> ReportMaker.Result {
        let maker = maker
        let now = try Self.instant(at)
        return try await pool.transaction { transaction in
            try await maker.make(report, now: now, in: transaction)
        }
    }

    /// For jobs, which read the clock: whatever it is, everything is kept.
    func keepAll() async throws {
        try await session.script("UPDATE people.retention_rules SET keep = '100 years'")
    }

    /// Withdraws the consent to share of people.
    func withdraw(_ people: ClosedRange<Int>) async throws {
        try await session.script(
            """
            SELECT people.withdraw_consent(n, 'sharing')
            FROM generate_series(\(people.lowerBound), \(people.upperBound)) AS n
            """)
    }

    /// Makes the report of a period, and returns its CSV.
    func csv(_ kind: String = "monthly", _ period: String = month) async throws -> [[String:
        String]]
    {
        let report = try await open(kind, period)
        try await make(report)
        let name = kind == "statement" ? "statement.csv" : "report.csv"
        return Self.parsed(try await bytes(of: name, report))
    }

    /// The folder of the newest revision.
    func folder(of report: Int64) async throws -> String {
        let name = try await session.query(
            """
            SELECT folder FROM reports.revisions WHERE report_id = $1 ORDER BY revision DESC LIMIT 1
            """, [.int64(report)]
        ).text(0, 0)
        return "\(root)/\(name)"
    }

    func bytes(of name: String, _ report: Int64) async throws -> Data {
        try Data(contentsOf: URL(filePath: "\(try await folder(of: report))/\(name)"))
    }

    /// The text of a PDF, without what stands where.
    func pdfText(_ name: String, _ report: Int64) async throws -> String {
        let path = "\(try await folder(of: report))/\(name)"
        return try await output(of: ["pdftotext", "-layout", path, "-"])
    }

    func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int64 {
        try await session.query(sql, parameters).int64(0, 0)
    }

    func texts(_ sql: String) async throws -> [String] {
        try await session.query(sql).map { try $0.optionalText(0) ?? "-" }
    }

    // MARK: CSV

    /// Reads RFC 4180: records by the names of their fields.
    ///
    /// Strict: a bare quote or line feed fails.
    static func parsed(_ data: Data) -> [[String: String]] {
        var records: [[String]] = []
        var (fields, field): ([String], [UInt8]) = ([], [])
        var isQuoted = false
        let bytes = Array(data)
        var place = 0
        func finished(_ field: [UInt8]) -> String { String(decoding: field, as: UTF8.self) }
        while place < bytes.count {
            let byte = bytes[place]
            if isQuoted {
                if byte == UInt8(ascii: "\"") {
                    if place + 1 < bytes.count, bytes[place + 1] == byte {
                        field.append(byte)
                        place += 1
                    } else {
                        isQuoted = false
                    }
                } else {
                    field.append(byte)
                }
            } else if byte == UInt8(ascii: "\"") {
                #expect(field.isEmpty)
                isQuoted = true
            } else if byte == UInt8(ascii: ",") {
                fields.append(finished(field))
                field = []
            } else if byte == 13 {
                #expect(place + 1 < bytes.count && bytes[place + 1] == 10)
                fields.append(finished(field))
                records.append(fields)
                (fields, field) = ([], [])
                place += 1
            } else {
                #expect(byte != 10)
                field.append(byte)
            }
            place += 1
        }
        #expect(fields.isEmpty && field.isEmpty)
        guard let heading = records.first else { return [] }
        return records.dropFirst().map { record in
            #expect(record.count == heading.count)
            return Dictionary(uniqueKeysWithValues: zip(heading, record))
        }
    }

    /// The value of a figure.
    static func value(
        _ records: [[String: String]], _ section: String, _ measure: String, branch: String = "all",
        item: String = "", question: String = ""
    ) -> String? {
        records.first {
            $0["section"] == section && $0["measure"] == measure && $0["branch"] == branch
                && $0["item"] == item && $0["question"] == question
        }?["value"]
    }
}

/// Works on a new ground, whose folder is removed.
func withReports(_ body: (ReportGround) async throws -> Void) async throws {
    let ground = try await ReportGround()
    defer { ground.remove() }
    try await body(ground)
}
