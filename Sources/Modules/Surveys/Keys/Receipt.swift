/// A receipt of an establishment, whose code leads to a survey.
package struct Receipt: Sendable {
    package var establishmentID: Int64
    package var branchID: Int64
    /// The till's number of the receipt: 1 to 40 of A-Z, 0-9 and dashes.
    package var number: String
    /// The time of the purchase, in seconds since 1970.
    package var purchasedAt: Int64

    package init(
        establishmentID: Int64, branchID: Int64, number: String, purchasedAt: Int64
    ) {
        self.establishmentID = establishmentID
        self.branchID = branchID
        self.number = number
        self.purchasedAt = purchasedAt
    }

    /// The size of the authentication code in bytes.
    private static let codeSize = 10

    /// Returns the text of the QR code on the receipt, as `surveys.scan` reads it.
    package func text(signedWith key: ReceiptKey) -> String {
        let message = "ER1.\(establishmentID).\(branchID).\(number).\(purchasedAt)"
        let code = key.code(of: Array(message.utf8)).prefix(Self.codeSize)
        let digits = Array("0123456789ABCDEF")
        return message + "."
            + code.reduce(into: "") { text, byte in
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
    }
}
