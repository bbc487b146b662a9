package import ErrandGregorian
import ErrandLatinText

/// The list of cheques for the bank's positive pay: the bank pays only cheques in the list.
///
/// There is no national standard. ``Form/issues`` is the format of Scotiabank: quoted values
/// without a heading, `account (≤ 12), number (≤ 9), amount with a point, date YYYYMMDD, payee
/// (≤ 30, no commas)`. ``Form/actions`` has a sixth value, `I` for an issue and `V` for a void, for
/// banks that accept both in one file; send it as soon as a cheque is voided.
///
/// Numbers must ascend, which prevents duplicates without storing the numbers.
package struct ChequeRegister: Sendable {
    /// The form of a line.
    package enum Form: String, Sendable, CaseIterable {
        /// Issued cheques only, five values.
        case issues
        /// Issues and voids, six values.
        case actions
    }

    /// The action of a line.
    package enum Action: String, Sendable, CaseIterable {
        /// The cheque was issued.
        case issue = "I"
        /// The cheque must not be paid.
        case void = "V"
    }

    private let account: String
    private let form: Form
    private var last: (number: Int64, action: Action)?
    private var totals = FileTotals()

    /// Starts a list.
    package init(account: String, form: Form) throws(PaymentFileError) {
        guard BankText.isDigits(account, count: 1...12) else {
            throw .badSetting("account of the cheques", expected: "1 to 12 digits")
        }
        self.account = account
        self.form = form
    }

    /// Adds a cheque.
    ///
    /// - Throws: ``PaymentFileError/badPayment(reference:_:)``; nothing is appended then.
    package mutating func add(
        number: Int64, amount: Int64, date: CivilDate, payee: String, action: Action = .issue,
        to output: inout [UInt8]
    ) throws(PaymentFileError) {
        func refuse(_ problem: PaymentFileError.Problem) -> PaymentFileError {
            .badPayment(reference: "cheque \(number)", problem)
        }
        guard (1...Cheque.mostNumber).contains(number) else {
            throw refuse(.badText("its number is outside 1 to \(Cheque.mostNumber)"))
        }
        guard (1...Cheque.mostAmount).contains(amount) else {
            throw refuse(.amount(amount, most: Cheque.mostAmount))
        }
        guard BankText.isDate(date) else {
            throw refuse(.badText("its date is not a day from 2000 to 2099"))
        }
        guard form == .actions || action == .issue else {
            throw refuse(.badText("the form 'issues' has no voids: use the form 'actions'"))
        }
        if let last {
            // A void may follow the issue of the same cheque.
            let isOwnVoid =
                number == last.number && last.action == .issue && action == .void
            guard number > last.number || isOwnVoid else {
                throw refuse(.notAscending(after: last.number))
            }
        }
        let name = Self.payee(payee)
        guard !name.isEmpty else { throw refuse(.noName) }
        last = (number, action)
        totals.payments += 1
        totals.records += 1
        totals.amount += action == .issue ? amount : 0
        var fields = [account, String(number), DecimalText.plain(amount), date.compact, name]
        if form == .actions { fields.append(action.rawValue) }
        output += CSVText.line(fields.map { "\"\($0)\"" })
    }

    /// Returns the number of lines and the sum of the issued amounts.
    package func end() -> FileTotals { totals }

    /// Capitals without commas, quotes and leading marks of spreadsheet formulas.
    private static func payee(_ text: String) -> String {
        var bytes: [UInt8] = []
        _ = PlainLetters.appendCapitals(
            of: text, limit: 30, where: { BankText.isAllowed($0) && $0 != UInt8(ascii: ",") },
            to: &bytes)
        let name = String(decoding: bytes, as: UTF8.self)
        return String(name.drop { "+-".contains($0) })
    }
}
