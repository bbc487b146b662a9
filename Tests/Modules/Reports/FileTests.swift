import ErrandCrypto
import ErrandDurableFiles
import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("Files of reports", .database) struct FileTests {
    private static func mode(_ path: String) throws -> Int {
        try #require(
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private static func seed(_ ground: ReportGround) async throws {
        try await ground.people(40)
        for person in 1...12 {
            try await ground.complete(
                person, #"{"1": \#(1 + person % 5), "2": \#(1 + person % 3), "4": true, "5": "t"}"#,
                branch: person % 3 == 0 ? nil : 3 + person % 2)
        }
    }

    @Test func `a report made again has the same bytes, whoever made it`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let report = try await ground.open()
            #expect(try await ground.make(report) == .made)
            let names = ["report.csv", "report.pdf", "manifest.json"]
            var first: [Data] = []
            for name in names { first.append(try await ground.bytes(of: name, report)) }
            #expect(try await ground.make(report) == .unchanged)
            // Everything anew, in another folder.
            let folder = try await ground.folder(of: report)
            #expect(try Self.mode(folder) == 0o700)
            #expect(try Self.mode(ground.root) == 0o700)
            for name in names { #expect(try Self.mode("\(folder)/\(name)") == 0o600) }
            try FileManager.default.removeItem(atPath: ground.root)
            #expect(try await ground.make(report) == .unchanged)
            for (name, bytes) in zip(names, first) {
                #expect(try await ground.bytes(of: name, report) == bytes, "\(name)")
            }
            let manifest = try JSONDecoder().decode(ReportFolder.Manifest.self, from: first[2])
            #expect(manifest.files.map(\.name) == ["report.csv", "report.pdf"])
            for (file, bytes) in zip(manifest.files, first) {
                #expect(file.sha256 == Hexadecimal.encode(SHA256.digest(of: Array(bytes))))
            }
        }
    }

    @Test func `changed figures make another revision, and the old one stays`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let report = try await ground.open()
            try await ground.make(report)
            let old = try await ground.folder(of: report)
            let bytes = try await ground.bytes(of: "report.csv", report)
            for person in 21...40 { try await ground.complete(person) }
            #expect(try await ground.make(report) == .revised)
            #expect(try await ground.folder(of: report) != old)
            #expect(try Data(contentsOf: URL(filePath: "\(old)/report.csv")) == bytes)
            #expect(try await ground.number("SELECT count(*) FROM reports.files") == 4)
            #expect(try await ground.make(report) == .unchanged)
        }
    }

    @Test func `files without rows, and rows without files, are repaired`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let report = try await ground.open()
            let maker = ground.maker
            let now = try ReportGround.instant("2026-12-01T00:00:00Z")
            struct Killed: Error {}
            // Killed between the files and the rows.
            await #expect(throws: Killed.self) {
                try await ground.pool.transaction { transaction in
                    _ = try await maker.make(report, now: now, in: transaction)
                    throw Killed()
                }
            }
            #expect(try await ground.number("SELECT count(*) FROM reports.revisions") == 0)
            // What nobody was shown is replaced, as the figures have changed since.
            try await ground.session.script(
                "UPDATE surveys.completions SET state = 'rejected' WHERE person_id = 1")
            #expect(try await ground.make(report) == .made)
            #expect(try await ground.number("SELECT max(revision) FROM reports.revisions") == 1)
            let folder = try await ground.folder(of: report)
            try FileManager.default.removeItem(atPath: "\(folder)/report.pdf")
            try FileManager.default.removeItem(atPath: "\(folder)/manifest.json")
            #expect(try await ground.make(report) == .unchanged)
            #expect(try await !ground.bytes(of: "report.pdf", report).isEmpty)
        }
    }

    @Test func `two that make a report at once make it once`() async throws {
        try await withReports { ground in
            try await Self.seed(ground)
            let report = try await ground.open()
            let results = try await withThrowingTaskGroup(of: ReportMaker.Result.self) { group in
                for _ in 0..<4 { group.addTask { try await ground.make(report) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.filter { $0 == .made }.count == 1)
            #expect(results.filter { $0 == .unchanged }.count == 3)
        }
    }

    @Test func `a planted folder or link is refused`() async throws {
        try await withReports { ground in
            let report = try await ground.open()
            let elsewhere = try temporaryFolder()
            defer { try? FileManager.default.removeItem(at: elsewhere) }
            try FileManager.default.createDirectory(
                atPath: ground.root, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            try FileManager.default.createSymbolicLink(
                atPath: "\(ground.root)/7", withDestinationPath: elsewhere.path)
            await #expect(throws: FileError.self) { try await ground.make(report) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)
            try FileManager.default.removeItem(atPath: "\(ground.root)/7")
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o777], ofItemAtPath: ground.root)
            await #expect(throws: FileError.self) { try await ground.make(report) }
        }
    }

    @Test func `formulas are neutralised, and quotes and line breaks survive`() async throws {
        try await withReports { ground in
            try await ground.people(5)
            try await ground.session.script(
                """
                SELECT establishments.put_establishment(7, '=Café "R", Inc.');
                SELECT establishments.put_branch(3, 7, '@SUM(1)', -73.57, 45.52);
                """)
            for (person, text) in [
                (1, "=1+1"), (2, "+cmd|' /C calc'!A0"), (3, "-2 points"),
                (4, "\\\"quoted\\\", yes"),
                (5, "\\u0009=x"),
            ] {
                try await ground.complete(person, #"{"1": 3, "4": true, "5": "\#(text)"}"#)
            }
            let records = try await ground.csv()
            let texts = records.filter { $0["section"] == "text" }.compactMap { $0["text"] }
            #expect(
                Set(texts) == [
                    "'=1+1", "'+cmd|' /C calc'!A0", "'-2 points", "'\"quoted\", yes", "'=x",
                ]
                    || Set(texts)
                        == ["'=1+1", "'+cmd|' /C calc'!A0", "'-2 points", "\"quoted\", yes", "'=x"]
            )
            #expect(records.contains { $0["text"] == "'=Café \"R\", Inc." })
            for cell in records.flatMap(\.values) {
                #expect(cell.first.map { !"=+-@\t".contains($0) } ?? true, "\(cell)")
            }
        }
    }
}

@Suite("PDFs of reports", .database) struct ReportPDFTests {
    /// The figures of the whole establishment, as the PDF shows them.
    private static func expect(_ records: [[String: String]], in text: String) {
        let words = Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
        for record in records where ["summary", "answer"].contains(record["section"]) {
            guard let value = record["value"], let measure = record["measure"] else { continue }
            if record["section"] == "answer", record["branch"] != "all" { continue }
            switch measure {
            case "share", "completion_rate":
                let percent = String(format: "%.2f", (Double(value) ?? 0) * 100)
                #expect(words.contains(percent), "\(record)")
            case "answered", "mean":
                #expect(words.contains(value + ",") || words.contains(value), "\(record)")
            default:
                #expect(words.contains(value), "\(record)")
            }
        }
    }

    @Test func `figures are those of the CSV`() async throws {
        try await withReports { ground in
            try await ground.people(97)
            for person in 1...97 {
                try await ground.complete(
                    person,
                    #"{"1": \#(1 + person % 5), "2": \#(1 + person % 3), "3": [1, 4], "4": true, "#
                        + #""5": "comment \#(person)"}"#,
                    branch: person % 3 == 0 ? nil : 3 + person % 2)
            }
            let records = try await ground.csv()
            let report = try await ground.open()
            let text = try await ground.pdfText("report.pdf", report)
            Self.expect(records, in: text)
            #expect(text.contains("82 more in report.csv."))
            #expect(text.contains("Rue Ontario"))
        }
    }

    @Test(
        "many branches or questions, and long foreign names, fill pages",
        arguments: [(200, 3, 7), (4, 100, 30)])
    func large(branches: Int, questions: Int, pages: Int) async throws {
        try await withReports { ground in
            try await ground.people(branches)
            let long =
                String(repeating: "Very long name ", count: 12) + String(repeating: "x", count: 9)
            try await ground.session.script(
                """
                SELECT establishments.put_establishment(7, '\(long)');
                SELECT establishments.put_branch(1000 + n, 7, 'Ветка 東京 ' || n, -73.57, 45.52)
                FROM generate_series(1, \(branches)) AS n;
                INSERT INTO surveys.versions (survey_id, version, title, minutes, expires_days,
                    paid, cut, currency) VALUES (12, 2, 'Опрос', 5, 14, 500, 300, 'CAD');
                INSERT INTO surveys.questions
                SELECT 12, 2, n, 'choice', repeat('Question ' || n || ' ', 35),
                    ARRAY[repeat('option one ', 20), repeat('é', 400), 'three'], false
                FROM generate_series(1, \(questions)) AS n;
                """)
            let answers = (1...questions).map { "\"\($0)\": \(1 + $0 % 3)" }
                .joined(separator: ",")
            for person in 1...branches {
                try await ground.complete(person, "{\(answers)}", branch: 1000 + person, version: 2)
            }
            let records = try await ground.csv()
            let report = try await ground.open()
            let text = try await ground.pdfText("report.pdf", report)
            Self.expect(records, in: text)
            #expect(text.contains("\(questions). Question \(questions)"))
            #expect(text.contains("????? ?? \(branches)"))
            let path = try await ground.folder(of: report) + "/report.pdf"
            let info = try await output(of: ["pdfinfo", path])
            let count = info.split(separator: "\n").first { $0.hasPrefix("Pages:") }
            #expect((Int(count?.split(separator: " ").last ?? "") ?? 0) >= pages)
        }
    }
}
