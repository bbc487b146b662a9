import Foundation
import ErrandGregorian
import ErrandPaymentFiles
import ErrandTestServices
import Testing

@Suite("Statements")
struct StatementTests {
    private func statement(_ count: Int) -> Statement {
        Statement(
            name: "Élodie Brontë-Œuvray", address: ["123, rue de l’Église", "Québec QC  G1R 2B5"],
            year: 2026, currency: "CAD",
            lines: (0..<count).map { place in
                Statement.Line(
                    date: day(2026, 1 + place % 12, 1 + place % 28), text: "Survey no. \(place)",
                    reference: "P-\(place)", amount: place % 5 == 4 ? -100_050 : 125)
            },
            totals: [.init(name: "Earned", amount: 98_765), .init(name: "Paid", amount: -98_000)])
    }

    private func pages(_ statement: Statement) async throws -> [String] {
        try await withFolder { folder in
            let file = folder.appending(path: "statement.pdf")
            let bytes = try StatementPDF.document(
                statement, issuer: "Sondages inc.", created: day(2027, 1, 5))
            try Data(bytes).write(to: file)
            let text = try await output(of: ["pdftotext", "-layout", file.path, "-"])
            return text.split(separator: "\u{0C}").map(String.init)
        }
    }

    @Test(
        "every line and sum is on a page, each page with its head and number",
        arguments: [0, 1, 38, 39, 40, 41, 42, 43, 500])
    func lines(count: Int) async throws {
        let pages = try await pages(statement(count))
        #expect(pages.count == max(1, (count + 3 + 41) / 42))
        for (number, page) in zip(1..., pages) {
            #expect(page.contains("Statement for 2026") && page.contains("Élodie Brontë-Œuvray"))
            #expect(page.contains("Page \(number) of \(pages.count)"))
            #expect(page.contains("Sondages inc., 2027-01-05"))
        }
        let rows = pages.joined().split(separator: "\n")
        for place in 0..<count {
            let row = rows.first { $0.contains("Survey no. \(place) ") }
            #expect(row?.hasSuffix(place % 5 == 4 ? " -1,000.50" : " 1.25") == true)
            #expect(row?.contains(" P-\(place) ") == true)
        }
        #expect(rows.contains { $0.contains("Earned") && $0.hasSuffix("987.65") })
        #expect(rows.contains { $0.contains("Paid") && $0.hasSuffix("-980.00") })
    }

    @Test func `a currency without cents has none`() async throws {
        var statement = statement(1)
        statement.currency = "XAF"
        statement.fraction = 0
        let page = try await pages(statement)[0]
        #expect(page.contains("Amount (XAF)") && page.contains("98,765"))
        #expect(String(decoding: statement.csv(), as: UTF8.self).hasSuffix(",P-0,125,XAF\r\n"))
    }

    @Test func `the same statement gives the same bytes`() throws {
        let documents = try (0..<2).map { _ in
            try StatementPDF.document(statement(50), issuer: "A", created: day(2027, 1, 5))
        }
        #expect(documents[0] == documents[1])
    }

    @Test func `a reader of CSV finds the lines again, and no formula`() async throws {
        var statement = statement(3)
        statement.lines[0].text = "Say \"hi\", twice\nin two lines"
        statement.lines[1].text = "=HYPERLINK(\"http://example.org\")"
        statement.lines[2].reference = " @home"
        statement.lines[2].amount = -5
        let script = "import csv,sys,json; print(json.dumps(list(csv.reader(sys.stdin))))"
        let csv = statement.csv()
        let read = try await withFolder { folder in
            let file = folder.appending(path: "statement.csv")
            try Data(csv).write(to: file)
            return try await output(
                of: ["sh", "-c", "python3 -c '\(script)' < \"$0\"", file.path])
        }
        let rows = try JSONDecoder().decode([[String]].self, from: Data(read.utf8))
        #expect(
            rows == [
                ["date", "description", "reference", "amount", "currency"],
                ["2026-01-01", "Say \"hi\", twice\nin two lines", "P-0", "1.25", "CAD"],
                ["2026-02-02", "'=HYPERLINK(\"http://example.org\")", "P-1", "1.25", "CAD"],
                ["2026-03-03", "Survey no. 2", "' @home", "-0.05", "CAD"],
            ])
    }
}
