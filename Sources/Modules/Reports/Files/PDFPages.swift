import ErrandGregorian
import ErrandPDF

/// Pages on Letter paper, filled from top to bottom, with a head and a number each.
final class PDFPages {
    static let left = 54.0
    static let right = 558.0
    private static let top = 720.0
    private static let bottom = 60.0

    let document: PDFDocument
    private let title: String
    private let name: String
    private(set) var y = 0.0

    init(title: String, name: String, created: CivilDate) throws {
        document = try PDFDocument(title: "\(title): \(name)", author: "Errand", created: created)
        self.title = title
        self.name = name
        try begin()
    }

    private func begin() throws {
        try document.addPage(width: 612, height: 792)
        let heading = try document.lines(
            of: name, width: 380, font: .helveticaBold, size: 11, limit: 1)
        try document.text(heading.first ?? "", x: Self.left, y: 745, font: .helveticaBold, size: 11)
        try ending(title, x: Self.right, y: 745, size: 9)
        try document.line(fromX: Self.left, y: 738, toX: Self.right, y: 738)
        try ending("Page \(document.pageCount)", x: Self.right, y: 36, size: 8)
        y = Self.top
    }

    /// Makes room, on another page if need be.
    func need(_ height: Double) throws {
        if y - height < Self.bottom { try begin() }
    }

    func move(_ height: Double) { y -= height }

    /// A text that ends at a point.
    func ending(
        _ text: String, x: Double, y: Double, font: PDFFont = .helvetica, size: Double
    ) throws {
        let width = try document.width(of: text, font: font, size: size)
        try document.text(text, x: x - width, y: y, font: font, size: size)
    }

    /// A heading, with room for what follows it.
    func heading(_ text: String, size: Double = 13, keeping height: Double = 60) throws {
        let lines = try document.lines(
            of: text, width: Self.right - Self.left, font: .helveticaBold, size: size, limit: 3)
        let lineHeight = size * 1.3
        try need(lineHeight * Double(lines.count) + 8 + height)
        move(8)
        for line in lines {
            move(lineHeight)
            try document.text(line, x: Self.left, y: y, font: .helveticaBold, size: size)
        }
        move(6)
    }

    /// A paragraph, which may continue on another page.
    func paragraph(_ text: String, size: Double = 9, indent: Double = 0, limit: Int = 40) throws {
        let lines = try document.lines(
            of: text, width: Self.right - Self.left - indent, size: size, limit: limit)
        for line in lines {
            try need(size * 1.4)
            move(size * 1.4)
            try document.text(line, x: Self.left + indent, y: y, size: size)
        }
    }

    /// A row of a table: the first cell begins at the left, the others end at the right of their
    /// columns.
    func row(_ cells: [String], isHead: Bool = false) throws {
        // A head stays with its first row.
        try need(isHead ? 30 : 13)
        move(13)
        let font = isHead ? PDFFont.helveticaBold : .helvetica
        let width = 66.0
        let first = Self.right - Self.left - width * Double(cells.count - 1) - 6
        let label = try document.lines(
            of: cells[0], width: first, font: font, size: 8.5, limit: 1)
        if let label = label.first {
            try document.text(label, x: Self.left, y: y, font: font, size: 8.5)
        }
        for (place, cell) in cells.dropFirst().enumerated() {
            let end = Self.right - width * Double(cells.count - 2 - place)
            try ending(cell, x: end, y: y, font: font, size: 8.5)
        }
        if isHead {
            try document.line(fromX: Self.left, y: y - 3, toX: Self.right, y: y - 3, width: 0.4)
            move(3)
        }
    }
}
