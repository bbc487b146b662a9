package import ErrandGregorian

/// A line of the remittance of a payment.
package struct RemittanceLine: Sendable, Equatable {
    /// The date of the reward.
    package var date: CivilDate
    /// The description.
    package var text: String
    /// Minor units; deductions are negative.
    package var amount: Int64

    /// Creates a line.
    package init(date: CivilDate, text: String, amount: Int64) {
        self.date = date
        self.text = text
        self.amount = amount
    }
}

/// A cheque.
package struct Cheque: Sendable, Equatable {
    /// Maximum amount in cents: the limit of positive-pay files.
    package static let mostAmount: Int64 = 99_999_999_999
    /// Maximum number: nine digits.
    package static let mostNumber: Int64 = 999_999_999
    /// Maximum lines of an address below the name: the height of the window.
    package static let mostAddressLines = 4

    /// The number, 1 to ``mostNumber``, unique on the account.
    package var number: Int64
    /// Cents, 1 to ``mostAmount``.
    package var amount: Int64
    /// The date of issue.
    package var date: CivilDate
    /// The payee.
    package var payee: String
    /// The address lines below the name.
    package var address: [String]
    /// The memo line.
    package var memo: String
    /// The remittance; empty, or with a sum equal to the amount.
    package var lines: [RemittanceLine]

    /// Creates a cheque.
    package init(
        number: Int64, amount: Int64, date: CivilDate, payee: String, address: [String],
        memo: String, lines: [RemittanceLine]
    ) {
        self.number = number
        self.amount = amount
        self.date = date
        self.payee = payee
        self.address = address
        self.memo = memo
        self.lines = lines
    }

    /// Throws if the cheque is invalid.
    package func check() throws(PaymentFileError) {
        func refuse(_ problem: PaymentFileError.Problem) -> PaymentFileError {
            .badPayment(reference: "cheque \(number)", problem)
        }
        guard (1...Self.mostNumber).contains(number) else {
            throw refuse(.badText("its number is outside 1 to \(Self.mostNumber)"))
        }
        guard (1...Self.mostAmount).contains(amount) else {
            throw refuse(.amount(amount, most: Self.mostAmount))
        }
        guard BankText.isDate(date) else {
            throw refuse(.badText("its date is not a day from 2000 to 2099"))
        }
        guard !BankText.capitals(of: payee, limit: 30).isEmpty else { throw refuse(.noName) }
        guard (1...Self.mostAddressLines).contains(address.count) else {
            throw refuse(.addressLines(address.count, most: Self.mostAddressLines))
        }
        guard !lines.isEmpty else { return }
        var total: Int64 = 0
        for line in lines {
            let (sum, overflow) = total.addingReportingOverflow(line.amount)
            guard !overflow else {
                throw refuse(.badText("the sum of its lines is too large"))
            }
            total = sum
        }
        guard total == amount else { throw refuse(.linesDiffer(total: total, amount: amount)) }
    }
}

/// The issuer of cheques and its account.
package struct ChequeIssuer: Sendable, Equatable {
    /// The name on the cheque.
    package var name: String
    /// The address lines; at most three are printed.
    package var address: [String]
    /// The name of the bank.
    package var bank: String
    /// The bank's address lines; at most two are printed.
    package var bankAddress: [String]
    /// The account in the bank's register, at most 12 digits.
    package var account: String
    /// CAD or USD.
    package var currency: String

    /// Creates an issuer.
    package init(
        name: String, address: [String], bank: String, bankAddress: [String], account: String,
        currency: String = "CAD"
    ) {
        self.name = name
        self.address = address
        self.bank = bank
        self.bankAddress = bankAddress
        self.account = account
        self.currency = currency
    }

    /// Throws if a setting is invalid.
    package func check() throws(PaymentFileError) {
        guard !name.isEmpty, !bank.isEmpty else {
            throw .badSetting("issuer", expected: "a name, and the name of the bank")
        }
        guard BankText.isDigits(account, count: 5...12) else {
            throw .badSetting("account of the cheques", expected: "5 to 12 digits")
        }
        guard currency == "CAD" || currency == "USD" else {
            throw .badSetting("currency", expected: "CAD or USD")
        }
    }
}
