package import ErrandGregorian
import ErrandLatinText

/// A file of credits for banks in the United States: the Nacha format, records of 94 bytes.
///
/// One record 1, batches of credits (service class 220), one record 9, and lines of nines up to a
/// multiple of ten. Like ``AFTFile``, it is written incrementally.
///
/// A new batch starts before the 6 digits of a batch's count, or the 12 of its sum, are exceeded;
/// trace numbers continue through the file. A file has at most 9,999,990 lines because its count
/// of blocks has 6 digits. The 7 digits of the trace sequence are therefore enough.
package struct NACHAFile: Sendable {
    /// Bytes per record, without the line end.
    package static let recordSize = 94
    /// Maximum amount of a payment in cents: ten digits.
    package static let mostAmount: Int64 = 9_999_999_999
    /// Maximum bytes of a reference: the individual's identification number.
    package static let referenceSize = 15
    private static let mostLines = 9_999_990
    /// Maximum sum: the sum in the last record has twelve digits.
    package static let mostTotal: Int64 = 999_999_999_999
    /// Number of payments that always fit the lines, whatever the batches.
    package static let mostPayments = 9_000_000
    private static let hashModulus: Int64 = 10_000_000_000

    /// The totals of a batch or of the file.
    private struct Sums {
        var entries = 0
        var hash: Int64 = 0
        var amount: Int64 = 0
    }

    private let profile: NACHAProfile
    private let batchHead: [UInt8]
    private let batchLimit: Int
    private let lineEnd: [UInt8]
    private var file = Sums()
    private var batch = Sums()
    private var batches = 0
    private var lines = 0
    private var name: [UInt8] = []

    /// Starts a file with its record 1.
    ///
    /// - Parameters:
    ///   - modifier: A to Z or 0 to 9, different for each file of a day.
    ///   - created: the date in the file.
    ///   - minute: the minute of that day, 0 to 1439.
    ///   - effective: the banking day on which people get the money.
    ///   - batchLimit: maximum entries per batch, at most 999,999.
    package init(
        _ profile: NACHAProfile, modifier: Character, created: CivilDate, minute: Int = 0,
        effective: CivilDate, batchLimit: Int = 999_999, to output: inout [UInt8]
    ) throws(PaymentFileError) {
        try profile.check()
        guard modifier.isASCII, modifier.isUppercase || modifier.isNumber else {
            throw .badSetting("file id modifier", expected: "A to Z or 0 to 9")
        }
        guard BankText.isDate(created), BankText.isDate(effective), (0..<1_440).contains(minute)
        else { throw .badSetting("date", expected: "a day from 2000 to 2099") }
        guard (1...999_999).contains(batchLimit) else {
            throw .badSetting("entries of a batch", expected: "1 to 999999")
        }
        self.profile = profile
        self.batchLimit = batchLimit
        lineEnd = profile.endsLinesWithCR ? [13, 10] : [10]
        batchHead = Self.batchHead(profile, effective)

        output.appendText("101 ", width: 4)  // 1–3: type, priority 01; 4: blank of 4–13
        output.appendText(profile.destination, width: 9)
        // 14–23: right-justified, as the destination is.
        output.appendBlanks(10 - profile.origin.utf8.count)
        output.append(contentsOf: profile.origin.utf8)
        output.append(contentsOf: Self.date(created))  // 24–29
        output.appendNumber(Int64(minute / 60), width: 2)  // 30–33
        output.appendNumber(Int64(minute % 60), width: 2)
        output.appendText(String(modifier), width: 1)  // 34
        output.appendText("094101", width: 6)  // 35–40: size, blocking, format
        output.appendText(BankText.capitals(of: profile.destinationName, limit: 23), width: 23)
        output.appendText(BankText.capitals(of: profile.originName, limit: 23), width: 23)
        output.appendBlanks(8)  // 87–94: reference
        endLine(in: &output)
    }

    /// Adds a payment.
    ///
    /// - Throws: ``PaymentFileError/badPayment(reference:_:)``; nothing is appended then, and more
    ///   payments can be added. ``PaymentFileError/full(limit:)``: end the file and start another.
    package mutating func add(
        _ deposit: Deposit, to output: inout [UInt8]
    ) throws(PaymentFileError) {
        func refuse(_ problem: PaymentFileError.Problem) -> PaymentFileError {
            .badPayment(reference: deposit.reference, problem)
        }
        guard BankText.isReference(deposit.reference, limit: Self.referenceSize) else {
            throw refuse(.reference(most: Self.referenceSize))
        }
        guard (1...Self.mostAmount).contains(deposit.amount) else {
            throw refuse(.amount(deposit.amount, most: Self.mostAmount))
        }
        guard case .unitedStates(let account) = deposit.account else {
            throw refuse(.otherCountry)
        }
        name.removeAll(keepingCapacity: true)
        guard
            PlainLetters.appendCapitals(
                of: deposit.payee, limit: 22, where: BankText.isAllowed, to: &name) > 0
        else { throw refuse(.noName) }
        // This entry, the batch's control, a new batch's two lines and the file's control.
        guard lines + 5 <= Self.mostLines, file.amount <= Self.mostTotal - deposit.amount else {
            throw .full(limit: "9,999,990 lines and 9,999,999,999.99")
        }
        if batches == 0 || batch.entries == batchLimit {
            endBatch(in: &output)
            beginBatch(in: &output)
        }
        append(deposit, account, to: &output)
    }

    /// Ends the file with its record 9 and the padding of nines.
    ///
    /// - Throws: ``PaymentFileError/empty`` if there are no payments.
    package mutating func end(to output: inout [UInt8]) throws(PaymentFileError) -> FileTotals {
        guard file.entries > 0 else { throw .empty }
        endBatch(in: &output)
        let blocks = (lines + 1 + 9) / 10
        output.append(UInt8(ascii: "9"))
        output.appendNumber(Int64(batches), width: 6)  // 2–7
        output.appendNumber(Int64(blocks), width: 6)  // 8–13
        output.appendNumber(Int64(file.entries), width: 8)  // 14–21
        output.appendNumber(file.hash, width: 10)  // 22–31
        output.appendNumber(0, width: 12)  // 32–43: debits
        output.appendNumber(file.amount, width: 12)  // 44–55: credits
        output.appendBlanks(39)  // 56–94
        endLine(in: &output)
        while lines % 10 > 0 {
            output.append(contentsOf: repeatElement(UInt8(ascii: "9"), count: Self.recordSize))
            endLine(in: &output)
        }
        return FileTotals(payments: file.entries, amount: file.amount, records: lines)
    }

    private mutating func append(
        _ deposit: Deposit, _ account: AmericanAccount, to output: inout [UInt8]
    ) {
        batch.entries += 1
        batch.amount += deposit.amount
        file.entries += 1
        file.amount += deposit.amount
        // The entry hash: the sum of the banks' first eight digits, modulo ten digits.
        var bank: Int64 = 0
        for digit in account.routing.utf8.prefix(8) { bank = bank * 10 + Int64(digit) - 48 }
        batch.hash = (batch.hash + bank) % Self.hashModulus
        file.hash = (file.hash + bank) % Self.hashModulus

        output.append(UInt8(ascii: "6"))
        output.appendText(account.kind == .checking ? "22" : "32", width: 2)  // 2–3
        output.appendText(account.routing, width: 9)  // 4–12
        output.appendText(account.account, width: 17)  // 13–29
        output.appendNumber(deposit.amount, width: 10)  // 30–39
        output.appendText(deposit.reference, width: 15)  // 40–54
        output.append(contentsOf: name)  // 55–76
        output.appendBlanks(22 - name.count)
        output.appendBlanks(2)  // 77–78
        output.append(UInt8(ascii: "0"))  // 79: no addenda
        output.appendText(profile.odfi.prefix(8), width: 8)  // 80–94: trace number
        output.appendNumber(Int64(file.entries), width: 7)
        endLine(in: &output)
    }

    private mutating func beginBatch(in output: inout [UInt8]) {
        batch = Sums()
        batches += 1
        output.append(contentsOf: batchHead)
        output.appendNumber(Int64(batches), width: 7)  // 88–94
        endLine(in: &output)
    }

    private mutating func endBatch(in output: inout [UInt8]) {
        guard batches > 0 else { return }
        output.appendText("8220", width: 4)  // 1–4
        output.appendNumber(Int64(batch.entries), width: 6)  // 5–10
        output.appendNumber(batch.hash, width: 10)  // 11–20
        output.appendNumber(0, width: 12)  // 21–32: debits
        output.appendNumber(batch.amount, width: 12)  // 33–44: credits
        output.appendText(profile.companyID, width: 10)  // 45–54
        output.appendBlanks(25)  // 55–73: authentication; 74–79: reserved
        output.appendText(profile.odfi.prefix(8), width: 8)  // 80–87
        output.appendNumber(Int64(batches), width: 7)  // 88–94
        endLine(in: &output)
    }

    private mutating func endLine(in output: inout [UInt8]) {
        output.append(contentsOf: lineEnd)
        lines += 1
    }

    /// Record 5 without its last seven bytes, the batch's number.
    private static func batchHead(_ profile: NACHAProfile, _ effective: CivilDate) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendText("5220", width: 4)  // 1–4
        bytes.appendText(BankText.capitals(of: profile.companyName, limit: 16), width: 16)  // 5–20
        bytes.appendBlanks(20)  // 21–40: discretionary
        bytes.appendText(profile.companyID, width: 10)  // 41–50
        bytes.appendText(profile.entryClass.rawValue, width: 3)  // 51–53
        bytes.appendText(
            BankText.capitals(of: profile.entryDescription, limit: 10), width: 10)  // 54–63
        bytes.append(contentsOf: date(effective))  // 64–69: descriptive date
        bytes.append(contentsOf: date(effective))  // 70–75: effective date
        bytes.appendBlanks(3)  // 76–78: settlement date, the operator's
        bytes.append(UInt8(ascii: "1"))  // 79
        bytes.appendText(profile.odfi.prefix(8), width: 8)  // 80–87
        return bytes
    }

    /// `YYMMDD`.
    private static func date(_ date: CivilDate) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in [date.year % 100, date.month, date.day] {
            bytes.appendNumber(Int64(part), width: 2)
        }
        return bytes
    }
}
