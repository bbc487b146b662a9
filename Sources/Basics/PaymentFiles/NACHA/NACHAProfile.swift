/// The bank's settings for ACH files in the United States.
package struct NACHAProfile: Sendable, Equatable {
    /// The standard entry class: the kind of account holders.
    package enum EntryClass: String, Sendable, CaseIterable {
        /// Persons.
        case personal = "PPD"
        /// Companies.
        case company = "CCD"
    }

    /// The routing number of the bank that receives the file, 9 digits; record 1, 4–13.
    package var destination: String
    /// That bank's name, at most 23 letters; record 1, 41–63.
    package var destinationName: String
    /// 10 characters, assigned by the bank; record 1, 14–23.
    package var origin: String
    /// Our name, at most 23 letters; record 1, 64–86.
    package var originName: String
    /// Our name on people's statements, at most 16 letters; record 5, 5–20.
    package var companyName: String
    /// 10 characters, often `1` and the tax number; record 5, 41–50.
    package var companyID: String
    /// The description on people's statements, at most 10 letters; record 5, 54–63.
    package var entryDescription: String
    /// The routing number of our bank; trace numbers start with its first 8 digits.
    package var odfi: String
    /// The standard entry class.
    package var entryClass: EntryClass
    /// Whether lines end with CR LF instead of LF.
    package var endsLinesWithCR: Bool

    /// Creates a profile; starting a file checks it.
    package init(
        destination: String, destinationName: String, origin: String, originName: String,
        companyName: String, companyID: String, odfi: String, entryDescription: String = "PAYOUT",
        entryClass: EntryClass = .personal, endsLinesWithCR: Bool = false
    ) {
        self.destination = destination
        self.destinationName = destinationName
        self.origin = origin
        self.originName = originName
        self.companyName = companyName
        self.companyID = companyID
        self.odfi = odfi
        self.entryDescription = entryDescription
        self.entryClass = entryClass
        self.endsLinesWithCR = endsLinesWithCR
    }

    /// Throws if a setting is invalid.
    package func check() throws(PaymentFileError) {
        for (name, routing) in [("destination", destination), ("ODFI", odfi)] {
            guard BankText.isDigits(routing, count: 9...9),
                AmericanAccount.hasRightCheckDigit(routing)
            else {
                throw .badSetting(name, expected: "a routing number of 9 digits, check digit last")
            }
        }
        for (name, id) in [("origin", origin), ("company id", companyID)] {
            guard BankText.isReference(id, limit: 10) else {
                throw .badSetting(name, expected: "1 to 10 of A-Z, 0-9 and -, from the bank")
            }
        }
        let texts = [
            ("destination name", destinationName), ("origin name", originName),
            ("company name", companyName), ("entry description", entryDescription),
        ]
        for (name, text) in texts {
            guard !BankText.capitals(of: text, limit: 23).isEmpty else {
                throw .badSetting(name, expected: "a text with letters")
            }
        }
    }
}
