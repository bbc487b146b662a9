import CErrandHaru
package import ErrandGregorian

/// The standard fonts of PDF readers (ISO 32000-1, 9.6.2.2).
package enum PDFFont: String, Sendable, CaseIterable {
    /// Sans serif.
    case helvetica = "Helvetica"
    /// Sans serif, bold.
    case helveticaBold = "Helvetica-Bold"
    /// Serif.
    case times = "Times-Roman"
    /// Monospaced.
    case courier = "Courier"
    /// Monospaced, bold.
    case courierBold = "Courier-Bold"
}

/// A PDF document, written from the first page to the last.
///
/// libharu keeps the document in memory until ``finish()``. The same calls produce the same bytes:
/// the caller provides the creation date, and there is no random identifier.
///
/// Lengths are points of 1/72 inch, measured from the lower left corner of the page.
@safe package final class PDFDocument {
    private let document: HPDF_Doc
    private var page: HPDF_Page?
    private var fonts: [PDFFont: HPDF_Font] = unsafe [:]
    /// The number of pages.
    package private(set) var pageCount = 0

    /// Creates a document without pages.
    ///
    /// - Parameters:
    ///   - title: the title, shown by readers.
    ///   - author: the issuer.
    ///   - created: the creation date, at 00:00 UTC.
    package init(title: String, author: String, created: CivilDate) throws(PDFError) {
        guard let made = unsafe errand_haru_new() else { throw .noMemory }
        unsafe document = unsafe made
        try check("setting up") { unsafe HPDF_SetCompressionMode(document, UInt32(HPDF_COMP_ALL)) }
        try describe(HPDF_INFO_TITLE, title)
        try describe(HPDF_INFO_AUTHOR, author)
        var date = HPDF_Date()
        date.year = Int32(created.year)
        date.month = Int32(created.month)
        date.day = Int32(created.day)
        date.ind = CChar(UInt8(ascii: "Z"))
        for kind in [HPDF_INFO_CREATION_DATE, HPDF_INFO_MOD_DATE] {
            try check("the date") { unsafe HPDF_SetInfoDateAttr(document, kind, date) }
        }
    }

    deinit { unsafe HPDF_Free(document) }

    /// Adds a page, to which the following calls write.
    package func addPage(width: Double, height: Double) throws(PDFError) {
        guard let made = unsafe HPDF_AddPage(document) else { throw failure("a page") }
        unsafe page = unsafe made
        pageCount += 1
        try check("a page") { unsafe HPDF_Page_SetWidth(made, Float(width)) }
        try check("a page") { unsafe HPDF_Page_SetHeight(made, Float(height)) }
    }

    /// Writes a line of text whose baseline starts at a point.
    ///
    /// - Parameters:
    ///   - text: the text. Letters that the font lacks are transliterated, and line breaks become
    ///     spaces.
    ///   - x: the distance from the left edge of the page.
    ///   - y: the distance of the baseline from the lower edge.
    package func text(
        _ text: String, x: Double, y: Double, font: PDFFont = .helvetica, size: Double
    ) throws(PDFError) {
        guard let page = unsafe page else { throw .library(doing: "a text before a page", code: 0) }
        let handle = try unsafe self.font(font)
        let bytes = WinAnsi.bytes(of: text).map { CChar(bitPattern: $0) }
        try check("a text") { unsafe HPDF_Page_BeginText(page) }
        try check("a text") { unsafe HPDF_Page_SetFontAndSize(page, handle, Float(size)) }
        try check("a text") { unsafe HPDF_Page_TextOut(page, Float(x), Float(y), bytes) }
        try check("a text") { unsafe HPDF_Page_EndText(page) }
    }

    /// Returns the width of a text.
    package func width(
        of text: String, font: PDFFont = .helvetica, size: Double
    ) throws(PDFError) -> Double {
        let handle = try unsafe self.font(font)
        let bytes = WinAnsi.bytes(of: text)
        // In thousandths of the size.
        let found = unsafe HPDF_Font_TextWidth(handle, bytes, UInt32(bytes.count - 1))
        return Double(found.width) * size / 1_000
    }

    /// Draws a straight line.
    package func line(
        fromX: Double, y fromY: Double, toX: Double, y toY: Double, width: Double = 0.5
    ) throws(PDFError) {
        guard let page = unsafe page else { throw .library(doing: "a line before a page", code: 0) }
        try check("a line") { unsafe HPDF_Page_SetLineWidth(page, Float(width)) }
        try check("a line") { unsafe HPDF_Page_MoveTo(page, Float(fromX), Float(fromY)) }
        try check("a line") { unsafe HPDF_Page_LineTo(page, Float(toX), Float(toY)) }
        try check("a line") { unsafe HPDF_Page_Stroke(page) }
    }

    /// Draws on the current page by calls that return libharu's codes.
    func drawing(_ doing: String, _ body: (HPDF_Page) -> [HPDF_STATUS]) throws(PDFError) {
        guard let page = unsafe page else {
            throw .library(doing: "\(doing) before a page", code: 0)
        }
        let codes = unsafe body(page)
        for code in codes { try check(doing) { code } }
    }

    /// Returns the whole document.
    ///
    /// Nothing can be added afterwards.
    package func finish() throws(PDFError) -> [UInt8] {
        try check("saving") { unsafe HPDF_SaveToStream(document) }
        var size = unsafe HPDF_GetStreamSize(document)
        var bytes = [UInt8](repeating: 0, count: Int(size))
        unsafe HPDF_ResetStream(document)
        let code = unsafe HPDF_ReadFromStream(document, &bytes, &size)
        // libharu reports the end of the stream like an error.
        guard code == 0 || code == UInt(HPDF_STREAM_EOF), Int(size) == bytes.count else {
            throw .library(doing: "saving", code: code)
        }
        return bytes
    }

    private func describe(_ kind: HPDF_InfoType, _ text: String) throws(PDFError) {
        let bytes = WinAnsi.bytes(of: text, isInfo: true).map { CChar(bitPattern: $0) }
        try check("the title") { unsafe HPDF_SetInfoAttr(document, kind, bytes) }
    }

    private func font(_ font: PDFFont) throws(PDFError) -> HPDF_Font {
        if let known = unsafe fonts[font] { return unsafe known }
        guard
            let made = unsafe HPDF_GetFont(document, font.rawValue, "WinAnsiEncoding")
        else { throw failure("the font \(font.rawValue)") }
        unsafe fonts[font] = unsafe made
        return unsafe made
    }

    private func check(_ doing: String, _ call: () -> HPDF_STATUS) throws(PDFError) {
        let code = call()
        guard code == 0 else { throw .library(doing: doing, code: code) }
    }

    private func failure(_ doing: String) -> PDFError {
        .library(doing: doing, code: unsafe HPDF_GetError(document))
    }
}
