package import ErrandGregorian

/// One line of what a payment is for.
package struct RemittanceLine: Sendable, Equatable {
    /// When it was earned.
    package var date: CivilDate
    /// What it was.
    package var text: String
    /// Minor units; what is kept back is negative.
    package var amount: Int64

    /// A line by its parts.
    package init(date: CivilDate, text: String, amount: Int64) {
        self.date = date
        self.text = text
        self.amount = amount
    }
}

/// One cheque.
package struct Cheque: Sendable, Equatable {
    /// The most that one may be, in cents: what positive-pay files take.
    package static let mostAmount: Int64 = 99_999_999_999
    /// The most that a number may be: nine digits.
    package static let mostNumber: Int64 = 999_999_999
    /// The most lines of an address, the name not counted: what the window shows.
    package static let mostAddressLines = 4

    /// Its number, 1 to ``mostNumber``, on this account used once.
    package var number: Int64
    /// Cents, 1 to ``mostAmount``.
    package var amount: Int64
    /// When it is issued.
    package var date: CivilDate
    /// To whose order.
    package var payee: String
    /// Street, town and so on, from the line under the name on.
    package var address: [String]
    /// What it is for, in a few words.
    package var memo: String
    /// What it is for, line by line; empty, or adding up to the amount.
    package var lines: [RemittanceLine]

    /// A cheque by its parts.
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

    /// Refuses a cheque that nobody could cash.
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
            throw refuse(.badText("its date is no day from 2000 to 2099"))
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
                throw refuse(.badText("its lines add up to more than there is"))
            }
            total = sum
        }
        guard total == amount else { throw refuse(.linesDiffer(total: total, amount: amount)) }
    }
}

/// Who issues cheques, and on which account.
package struct ChequeIssuer: Sendable, Equatable {
    /// The name on the cheque.
    package var name: String
    /// The lines under it; at most three are printed.
    package var address: [String]
    /// The bank on which they are drawn.
    package var bank: String
    /// The lines under it; at most two are printed.
    package var bankAddress: [String]
    /// The account as the register of the bank has it, at most 12 digits.
    package var account: String
    /// CAD or USD.
    package var currency: String

    /// An issuer by its parts.
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

    /// Refuses an issuer whose cheques could not be cashed.
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
