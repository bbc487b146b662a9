/// The bank's settings for AFT files (Payments Canada, Standard 005).
///
/// Positions and rules are from the standard's 2024 edition. Settings cover the differences in
/// banks' guides; follow your bank's guide.
package struct AFTProfile: Sendable, Equatable {
    /// The form of element 09 of a payment, its trace number.
    package enum TraceNumber: String, Sendable, CaseIterable {
        /// The form of the standard: the data centre without its last digit (4), the originating
        /// direct clearer's data centre (5), the file's number (4), the item's (9).
        case structured
        /// Zeros, for banks that fill it, together with elements 16, 17 and 20.
        case zeroFill = "zero-fill"
    }

    /// 10 characters, assigned by the bank; A-03, C-02, C-14.
    package var originatorID: String
    /// 5 digits, the data centre that receives files; A-06.
    package var dataCentre: String
    /// 5 digits, not all zeros; part of a structured trace number.
    package var directClearer: String
    /// Our name on people's statements, at most 15 letters; C-11.
    package var shortName: String
    /// Our name in full, at most 30 letters; C-13.
    package var longName: String
    /// 3 digits of Standard 007: 450 is "miscellaneous payments"; C-04.
    package var transactionCode: String
    /// The account for returned items; C-16 and C-17.
    package var returnAccount: CanadianAccount
    /// The form of trace numbers.
    package var traceNumber: TraceNumber
    /// Blank, or two digits; C-20.
    package var settlementCode: String
    /// CAD or USD, for the whole file; A-08.
    package var currency: String
    /// Whether records end with CR LF, as in customers' files.
    package var endsLines: Bool

    /// Creates a profile; starting a file checks it.
    package init(
        originatorID: String, dataCentre: String, directClearer: String, shortName: String,
        longName: String, returnAccount: CanadianAccount, transactionCode: String = "450",
        traceNumber: TraceNumber = .structured, settlementCode: String = "",
        currency: String = "CAD", endsLines: Bool = true
    ) {
        self.originatorID = originatorID
        self.dataCentre = dataCentre
        self.directClearer = directClearer
        self.shortName = shortName
        self.longName = longName
        self.returnAccount = returnAccount
        self.transactionCode = transactionCode
        self.traceNumber = traceNumber
        self.settlementCode = settlementCode
        self.currency = currency
        self.endsLines = endsLines
    }

    /// Throws if a setting is invalid.
    package func check() throws(PaymentFileError) {
        let isID =
            (1...10).contains(originatorID.utf8.count)
            && originatorID.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: false
                }
            }
        guard isID else {
            throw .badSetting("originator id", expected: "1 to 10 of A-Z and 0-9, from the bank")
        }
        guard BankText.isDigits(dataCentre, count: 5...5) else {
            throw .badSetting("destination data centre", expected: "5 digits, from the bank")
        }
        guard BankText.isDigits(directClearer, count: 5...5) else {
            throw .badSetting("originating direct clearer", expected: "5 digits, from the bank")
        }
        // Banks reject all items if a part is zero.
        if traceNumber == .structured, directClearer == "00000" || dataCentre.prefix(4) == "0000" {
            throw .badSetting(
                "trace number", expected: "a data centre and a direct clearer other than zeros")
        }
        for (name, text) in [("short name", shortName), ("long name", longName)] {
            guard !BankText.capitals(of: text, limit: 30).isEmpty else {
                throw .badSetting(name, expected: "a name with letters")
            }
        }
        guard BankText.isDigits(transactionCode, count: 3...3), transactionCode != "000" else {
            throw .badSetting("transaction code", expected: "3 digits of Standard 007, as 450")
        }
        guard settlementCode.isEmpty || BankText.isDigits(settlementCode, count: 2...2) else {
            throw .badSetting("settlement code", expected: "nothing, or two digits")
        }
        guard currency == "CAD" || currency == "USD" else {
            throw .badSetting("currency", expected: "CAD or USD")
        }
    }
}
