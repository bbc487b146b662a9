package import ErrandGregorian
import ErrandPDF

/// Printable cheques, one per sheet of Letter paper: the cheque on top, its stub below, and the
/// address in the window of an envelope.
///
/// Lengths in points from the lower left corner of the sheet, 792 high:
/// - cheque 540–792 (3½ inches, to the stock's perforation), stub 264–540, address panel 0–264;
/// - the lowest 45 points of the cheque, 540–585, stay blank for the MICR line (5/8 inch). The
///   sheets do not print it: **use stock with a preprinted MICR line**, in the order of the
///   numbers. Each cheque therefore has exactly one sheet, and lines that do not fit go to
///   ``Printed/continuation``, for plain paper;
/// - the date follows Standard 006 (Payments Canada, part A): digits `YYYYMMDD` above the letters
///   of the form; the amount is 1.4–2.6 inches above the cheque's lower edge and 0.25–2.5 inches
///   from its right edge, a quarter of an inch from other elements.
///
/// The address fits a #10 envelope (4⅛ × 9½ inches) with the usual window: 1⅛ × 4½ inches, ⅞ from
/// the left, ½ from the bottom. The sheet is folded at 7⅓ and 3⅔ inches so that the lowest third
/// faces the window. That panel, 3⅔ × 8½ inches, can slide by 0.458 up and 1 inch sideways. The
/// area that is always visible is 36–84 above the sheet's lower edge and 63–315 from its left edge;
/// it has the address. Nothing else is in the area that may be visible: below 117 and left of 387.
///
/// libharu keeps a document in memory: a file has at most ``mostCheques``.
package final class ChequeSheets {
    /// Maximum number of cheques per file.
    package static let mostCheques = 500

    /// The printed files.
    package struct Printed: Sendable {
        /// One page per cheque, for the cheque stock.
        package var sheets: [UInt8]
        /// Lines that do not fit, for plain paper; nil if all fit.
        package var continuation: [UInt8]?
        /// The number of cheques and their sum.
        package var totals: FileTotals
    }

    static let width = 612.0
    static let height = 792.0

    let issuer: ChequeIssuer
    private let created: CivilDate
    private let sheets: PDFDocument
    private var continuation: PDFDocument?
    private var last: Int64 = 0
    private var totals = FileTotals()

    /// Starts a file.
    ///
    /// - Parameter created: the date in the file.
    package init(issuer: ChequeIssuer, created: CivilDate) throws {
        try issuer.check()
        self.issuer = issuer
        self.created = created
        sheets = try PDFDocument(title: "Cheques", author: issuer.name, created: created)
    }

    /// Adds a cheque; numbers must ascend.
    ///
    /// - Throws: ``PaymentFileError`` for an invalid cheque, which is not printed; `PDFError`.
    package func add(_ cheque: Cheque) throws {
        try cheque.check()
        guard totals.payments < Self.mostCheques else {
            throw PaymentFileError.full(limit: "\(Self.mostCheques) cheques")
        }
        guard cheque.number > last else {
            throw PaymentFileError.badPayment(
                reference: "cheque \(cheque.number)", .notAscending(after: last))
        }
        last = cheque.number
        totals.payments += 1
        totals.records += 1
        totals.amount += cheque.amount
        try sheets.addPage(width: Self.width, height: Self.height)
        let page = ChequePage(page: sheets, issuer: issuer, cheque: cheque)
        try page.drawCheque()
        let rest = try page.drawStub()
        try page.drawAddress()
        if !rest.isEmpty {
            let paper =
                try continuation
                ?? PDFDocument(title: "Remittances", author: issuer.name, created: created)
            continuation = paper
            try ContinuationPages(page: paper, issuer: issuer, cheque: cheque).draw(rest)
        }
    }

    /// Returns the files; no cheque can be added afterwards.
    package func finish() throws -> Printed {
        guard totals.payments > 0 else { throw PaymentFileError.empty }
        return Printed(
            sheets: try sheets.finish(), continuation: try continuation?.finish(), totals: totals)
    }
}
