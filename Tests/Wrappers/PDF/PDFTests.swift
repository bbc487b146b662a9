import Foundation
import ErrandGregorian
import ErrandPDF
import ErrandTestServices
import Testing

@Suite("PDF documents")
struct PDFTests {
    private let created = CivilDate(year: 2026, month: 12, day: 31)

    private func document(_ text: String, font: PDFFont = .helvetica) throws -> [UInt8] {
        let document = try PDFDocument(
            title: "Chèque d’été", author: "Łukasz & Œuvre", created: created)
        try document.addPage(width: 612, height: 792)
        try document.text(text, x: 72, y: 700, font: font, size: 11)
        return try document.finish()
    }

    private func read(_ bytes: [UInt8], with command: [String]) async throws -> String {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "document.pdf")
        try Data(bytes).write(to: file)
        return try await output(of: command + [file.path] + (command[0] == "pdfinfo" ? [] : ["-"]))
    }

    @Test(
        "pdftotext reads what was written, in every font",
        arguments: PDFFont.allCases)
    func fonts(font: PDFFont) async throws {
        let words = "Élodie Brontë-Œuvray, d’Arcy – œuf naïf à 5 € (ça & là) \\ Ÿ"
        let read = try await read(try document(words, font: font), with: ["pdftotext", "-raw"])
        #expect(read.trimmingCharacters(in: .whitespacesAndNewlines) == words)
    }

    @Test(
        "what the fonts lack becomes plain letters, and a question mark if there are none",
        arguments: [
            ("Łukasz Świątek", "Lukasz Swiatek"), ("e\u{301}te\u{301}", "été"),
            ("Nguyễn Thị", "Nguyen Thi"), ("山 🙂", "? ?"), ("a\nb\r\nc\td", "a b c d"),
            ("Ő\u{300}", "O"), ("A\u{303}o\u{328}", "Ão"),
        ])
    func letters(text: String, shown: String) async throws {
        let read = try await read(try document("x\(text)x"), with: ["pdftotext", "-raw"])
        #expect(read.trimmingCharacters(in: .whitespacesAndNewlines) == "x\(shown)x")
    }

    @Test func `a reader is told the title, the author and the day`() async throws {
        let info = try await read(try document("a"), with: ["pdfinfo"])
        let lines = info.split(separator: "\n").map { line in
            line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        #expect(lines.contains("Title: Chèque d'été"))
        #expect(lines.contains("Author: Lukasz & OEuvre"))
        #expect(lines.contains { $0.hasPrefix("CreationDate: ") && $0.contains("Dec 31") })
        #expect(lines.contains("Pages: 1"))
        #expect(lines.contains("Page size: 612 x 792 pts (letter)"))
    }

    @Test func `the same calls give the same bytes`() throws {
        let first = try document("été")
        #expect(try document("été") == first)
        #expect(try document("Été") != first)
    }

    @Test func `widths are those of the font`() throws {
        let document = try PDFDocument(title: "", author: "", created: created)
        // The digits of Helvetica are 556 thousandths wide; all letters of Courier 600.
        #expect(abs(try document.width(of: "0123456789", size: 10) - 55.6) < 0.01)
        #expect(abs(try document.width(of: "iW", font: .courier, size: 10) - 12) < 0.01)
        #expect(try document.width(of: "", size: 10) == 0)
    }

    @Test func `what libharu refuses is an error, and the program goes on`() throws {
        let document = try PDFDocument(title: "", author: "", created: created)
        #expect(throws: PDFError.self) { try document.text("a", x: 0, y: 0, size: 10) }
        #expect(throws: PDFError.self) {
            try document.line(fromX: 0, y: 0, toX: 1, y: 1)
        }
        let error = #expect(throws: PDFError.self) {
            try document.addPage(width: 1, height: 1_000_000)
        }
        #expect(error?.description.contains("libharu failed at a page") == true)
        let other = try self.document("still works")
        #expect(other.starts(with: Array("%PDF-".utf8)))
    }

    @Test func `a document has the pages that were begun`() async throws {
        let document = try PDFDocument(title: "", author: "", created: created)
        try document.addPage(width: 612, height: 792)
        try document.addPage(width: 612, height: 792)
        #expect(document.pageCount == 2)
        let info = try await read(try document.finish(), with: ["pdfinfo"])
        #expect(info.contains("Pages:           2"))
    }
}

@Suite("Charts in PDF documents")
struct PDFDrawingTests {
    private func page() throws -> PDFDocument {
        let document = try PDFDocument(
            title: "", author: "", created: CivilDate(year: 2026, month: 12, day: 31))
        try document.addPage(width: 612, height: 792)
        return document
    }

    /// The picture of a page: rows of pixels at 72 dpi, a byte for red, green and blue each.
    private func picture(_ bytes: [UInt8]) async throws -> (width: Int, pixels: [UInt8]) {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "document.pdf")
        try Data(bytes).write(to: file)
        let name = folder.appending(path: "page").path
        _ = try await output(of: ["pdftoppm", "-r", "72", "-singlefile", file.path, name])
        let picture = Array(try Data(contentsOf: URL(filePath: name + ".ppm")))
        return (612, Array(picture.suffix(612 * 792 * 3)))
    }

    @Test func `rectangles are filled, lines are drawn, and texts stay black`() async throws {
        let document = try page()
        let red = PDFColor(red: 1, green: 0, blue: 0)
        try document.fill(x: 100, y: 100, width: 50, height: 30, color: red)
        try document.polyline(
            [PDFPoint(x: 200, y: 200), PDFPoint(x: 300, y: 300), PDFPoint(x: 400, y: 200)],
            width: 6, color: PDFColor(red: 0, green: 0, blue: 1))
        try document.polyline([PDFPoint(x: 1, y: 1)])
        try document.line(fromX: 100, y: 400, toX: 200, y: 400, width: 6)
        let (width, pixels) = try await picture(try document.finish())
        func color(_ x: Int, _ y: Int) -> [UInt8] {
            let place = ((792 - y) * width + x) * 3
            return Array(pixels[place..<(place + 3)])
        }
        #expect(color(125, 115) == [255, 0, 0])
        #expect(color(160, 115) == [255, 255, 255])
        #expect(color(250, 250) == [0, 0, 255])
        #expect(color(350, 250) == [0, 0, 255])
        #expect(color(300, 220) == [255, 255, 255])
        #expect(color(150, 400) == [0, 0, 0])
    }

    @Test func `texts are broken into lines that fit`() throws {
        let document = try page()
        func lines(_ text: String, _ limit: Int = 9) throws -> [String] {
            // The letters of Courier are 6 points wide here.
            try document.lines(of: text, width: 60, font: .courier, size: 10, limit: limit)
        }
        #expect(try lines("one two three four") == ["one two", "three four"])
        #expect(try lines("  one\ntwo ") == ["one two"])
        #expect(try lines("") == [])
        #expect(try lines("abcdefghijklmnop q") == ["abcdefghij", "klmnop q"])
        #expect(try lines("one two three four five", 2) == ["one two", "three fou…"])
        #expect(try lines(String(repeating: "x", count: 1_000), 3).count == 3)
    }

    @Test func `drawing before a page is an error`() throws {
        let document = try PDFDocument(
            title: "", author: "", created: CivilDate(year: 2026, month: 12, day: 31))
        #expect(throws: PDFError.self) {
            try document.fill(x: 0, y: 0, width: 1, height: 1, color: .black)
        }
    }
}
