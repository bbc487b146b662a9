package import ErrandGregorian
import ErrandLatinText

/// A file of credits for Canadian banks: Payments Canada, Standard 005, records of 1,464 bytes.
///
/// One record A, records C with up to six payments each, one record Z. The writer is incremental:
/// it appends the bytes of each payment to the caller's buffer, which the caller may flush at any
/// time. The same payments in the same order give the same bytes; no clock is read.
///
/// ```
/// let draft = try FileDraft("aft-0042.txt", in: folder)
/// var file = try draft.write { output in
///     try AFTFile(profile, number: 42, created: today, paid: payDate, to: &output)
/// }
/// for try await deposit in deposits { try draft.write { try file.add(deposit, to: &$0) } }
/// let totals = try draft.write { try file.end(to: &$0) }
/// let published = try draft.publish()
/// ```
package struct AFTFile: Sendable {
    /// Bytes per record, without the line end.
    package static let recordSize = 1_464
    /// Payments per record.
    package static let segmentsPerRecord = 6
    /// Bytes per payment.
    package static let segmentSize = 240
    /// Maximum amount of a payment, in minor units: element 05 has ten digits.
    package static let mostAmount: Int64 = 9_999_999_999
    /// Maximum bytes of a reference: element 15.
    package static let referenceSize = 19
    /// Maximum number of payments: the count in record Z has eight digits.
    package static let mostPayments = 99_999_999
    /// Maximum sum: the sum in record Z has fourteen digits.
    package static let mostTotal: Int64 = 99_999_999_999_999

    private let profile: AFTProfile
    /// The template of a payment with the fields that all payments share.
    private let segment: [UInt8]
    /// Originator id and file creation number, at 11–24 of all records.
    private let origin: [UInt8]
    /// Buffers for the transliterated payee and note.
    private var name: [UInt8] = []
    private var note: [UInt8] = []
    private var totals = FileTotals()

    /// Starts a file with its record A.
    ///
    /// - Parameters:
    ///   - number: the file creation number, 1 to 9999, one more than the previous file's; 1
    ///     follows 9999. Banks use it to detect duplicates, so a number identifies one file.
    ///   - created: the date in the file.
    ///   - paid: the day on which the money is available.
    package init(
        _ profile: AFTProfile, number: Int, created: CivilDate, paid: CivilDate,
        to output: inout [UInt8]
    ) throws(PaymentFileError) {
        try profile.check()
        guard (1...9_999).contains(number) else {
            throw .badSetting("file creation number", expected: "1 to 9999")
        }
        guard BankText.isDate(created), BankText.isDate(paid) else {
            throw .badSetting("date", expected: "a day from 2000 to 2099")
        }
        self.profile = profile
        var origin: [UInt8] = []
        origin.appendText(profile.originatorID, width: 10)
        origin.appendNumber(Int64(number), width: 4)
        self.origin = origin
        segment = Self.segment(profile, number: number, paid: paid)

        appendHead("A", to: &output)  // A-01 to 04, positions 1–24
        output.append(contentsOf: Self.date(created))  // A-05, 25–30
        output.appendText(profile.dataCentre, width: 5)  // A-06, 31–35
        output.appendBlanks(20)  // A-07, 36–55
        output.appendText(profile.currency, width: 3)  // A-08, 56–58
        output.appendBlanks(1_406)  // A-09, 59–1464
        endRecord(in: &output)
    }

    /// Adds a payment.
    ///
    /// - Throws: ``PaymentFileError/badPayment(reference:_:)``; nothing is appended then, and more
    ///   payments can be added.
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
        guard case .canada(let account) = deposit.account else { throw refuse(.otherCountry) }
        name.removeAll(keepingCapacity: true)
        note.removeAll(keepingCapacity: true)
        guard
            PlainLetters.appendCapitals(
                of: deposit.payee, limit: 30, where: BankText.isAllowed, to: &name) > 0
        else { throw refuse(.noName) }
        _ = PlainLetters.appendCapitals(
            of: deposit.note, limit: 15, where: BankText.isAllowed, to: &note)
        guard totals.payments < Self.mostPayments,
            totals.amount <= Self.mostTotal - deposit.amount
        else { throw .full(limit: "99,999,999 payments and 999,999,999,999.99") }

        if totals.payments % Self.segmentsPerRecord == 0 {
            if totals.payments > 0 { endRecord(in: &output) }
            appendHead("C", to: &output)
        }
        totals.payments += 1
        totals.amount += deposit.amount
        append(deposit, account, to: &output)
    }

    /// Ends the file with its record Z.
    ///
    /// - Throws: ``PaymentFileError/empty`` if there are no payments.
    package mutating func end(to output: inout [UInt8]) throws(PaymentFileError) -> FileTotals {
        guard totals.payments > 0 else { throw .empty }
        let rest = totals.payments % Self.segmentsPerRecord
        if rest > 0 { output.appendBlanks((Self.segmentsPerRecord - rest) * Self.segmentSize) }
        endRecord(in: &output)
        appendHead("Z", to: &output)  // Z-01 to 03, 1–24
        appendSum(0, 0, to: &output)  // Z-04 and 05, 25–46: debits
        // Z-06 and 07, 47–68: credits. The count is of payments, not records.
        appendSum(totals.amount, totals.payments, to: &output)
        appendSum(0, 0, to: &output)  // Z-08 and 09, 69–90: corrections E
        appendSum(0, 0, to: &output)  // Z-10 and 11, 91–112: corrections F
        output.appendBlanks(1_352)  // Z-12, 113–1464
        endRecord(in: &output)
        return totals
    }

    /// Type, record count, originator id, file creation number: positions 1–24 of each record.
    private mutating func appendHead(_ type: Unicode.Scalar, to output: inout [UInt8]) {
        totals.records += 1
        output.append(UInt8(ascii: type))
        output.appendNumber(Int64(totals.records), width: 9)
        output.append(contentsOf: origin)
    }

    private func endRecord(in output: inout [UInt8]) {
        if profile.endsLines { output.append(contentsOf: [13, 10]) }
    }

    private func appendSum(_ amount: Int64, _ count: Int, to output: inout [UInt8]) {
        output.appendNumber(amount, width: 14)
        output.appendNumber(Int64(count), width: 8)
    }

    /// Appends the template filled with the payment; offsets are positions of segment 1 minus 25.
    private func append(_ deposit: Deposit, _ account: CanadianAccount, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: segment)
        output.putNumber(deposit.amount, at: start + 3, width: 10)  // C-05, 28–37
        // C-07, 44–52: a zero, institution, transit.
        output.putText(account.institution, at: start + 20)
        output.putText(account.transit, at: start + 23)
        output.putText(account.account, at: start + 28)  // C-08, 53–64
        if profile.traceNumber == .structured {
            // C-09, 65–86: the last nine digits are the item's index in the file.
            output.putNumber(Int64(totals.payments), at: start + 53, width: 9)
        }
        for (place, byte) in name.enumerated() { output[start + 80 + place] = byte }  // C-12
        output.putText(deposit.reference, at: start + 150)  // C-15, 175–193
        for (place, byte) in note.enumerated() { output[start + 190 + place] = byte }  // C-18
    }

    /// The template of a payment: shared fields, and zeros and blanks in the others.
    private static func segment(
        _ profile: AFTProfile, number: Int, paid: CivilDate
    ) -> [UInt8] {
        let isStructured = profile.traceNumber == .structured
        var bytes: [UInt8] = []
        bytes.reserveCapacity(segmentSize)
        bytes.appendText(profile.transactionCode, width: 3)  // 04, 25–27
        bytes.appendNumber(0, width: 10)  // 05, 28–37: amount
        bytes.append(contentsOf: date(paid))  // 06, 38–43
        bytes.appendNumber(0, width: 9)  // 07, 44–52: institution
        bytes.appendBlanks(12)  // 08, 53–64: account
        if isStructured {  // 09, 65–86: trace number
            bytes.appendText(profile.dataCentre.prefix(4), width: 4)
            bytes.appendText(profile.directClearer, width: 5)
            bytes.appendNumber(Int64(number), width: 4)
            bytes.appendNumber(0, width: 9)
        } else {
            bytes.appendNumber(0, width: 22)
        }
        bytes.appendNumber(0, width: 3)  // 10, 87–89: stored transaction type
        bytes.appendText(BankText.capitals(of: profile.shortName, limit: 15), width: 15)  // 11
        bytes.appendBlanks(30)  // 12, 105–134: payee
        bytes.appendText(BankText.capitals(of: profile.longName, limit: 30), width: 30)  // 13
        bytes.appendText(profile.originatorID, width: 10)  // 14, 165–174
        bytes.appendBlanks(19)  // 15, 175–193: reference
        if isStructured {
            let account = profile.returnAccount
            bytes.appendText("0" + account.institution + account.transit, width: 9)  // 16, 194–202
            bytes.appendText(account.account, width: 12)  // 17, 203–214
        } else {
            bytes.appendNumber(0, width: 9)
            bytes.appendNumber(0, width: 12)
        }
        bytes.appendBlanks(15)  // 18, 215–229: sundry information
        bytes.appendBlanks(22)  // 19, 230–251
        bytes.appendText(isStructured ? profile.settlementCode : "00", width: 2)  // 20, 252–253
        bytes.appendNumber(0, width: 11)  // 21, 254–264: for the bank, on rejects
        precondition(bytes.count == segmentSize)
        return bytes
    }

    /// `0YYDDD`: two digits of the year and the day of the year.
    private static func date(_ date: CivilDate) -> [UInt8] {
        let newYear = CivilDate(year: date.year, month: 1, day: 1)
        let dayOfYear = date.daysSince1970 - newYear.daysSince1970 + 1
        var bytes: [UInt8] = []
        bytes.appendNumber(Int64(date.year % 100), width: 3)
        bytes.appendNumber(Int64(dayOfYear), width: 3)
        return bytes
    }
}
