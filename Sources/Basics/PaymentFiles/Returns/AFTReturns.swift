/// A parsed file of returned and rejected payments from a Canadian bank (Standard 005).
///
/// The parser is strict about the structure: records of 1,464 bytes from A to Z in sequence, one
/// originator, six segments with blanks only after the last, and matching counts and sums in
/// record Z.
///
/// It is tolerant of unconfirmed records: it counts and skips E and F (corrections) and other
/// letters (notices of change, which banks' guides name U, S or V).
///
/// - Record I is a returned credit, J a returned debit. A segment has the layout of record C, with
///   the reason instead of the transaction code (04), the returning bank in 07 and 08, our account
///   in 16 and 17, and the trace number of our payment in 19 (as in public parsers of the format).
/// - A record C or D of our own is a rejected payment if element 21 has an error number, or if its
///   code is a reason.
package struct AFTReturns: Sendable, Equatable {
    /// The originator of the file.
    package var originatorID: String
    /// The bank's number of the file; 0 if it has none.
    package var fileNumber: Int
    /// The items in the order of the file.
    package var items: [ReturnedDeposit]
    /// The number of skipped records, by letter.
    package var skipped: [String: Int]

    private static let firstSegment = 25

    /// Sums and counts by record letter, for comparison with record Z.
    private struct Sums {
        var amount: [UInt8: Int64] = [:]
        var count: [UInt8: Int64] = [:]

        mutating func add(_ value: Int64, to type: UInt8) {
            amount[type, default: 0] += value
            count[type, default: 0] += 1
        }
    }

    /// Parses a file.
    package init(_ bytes: [UInt8]) throws(ReturnFileError) {
        let records = try FixedRecords(bytes, size: AFTFile.recordSize)
        guard records.byte(1, 1) == UInt8(ascii: "A") else {
            throw records.failure(1, 1, "record A at the start of the file")
        }
        originatorID = records.text(1, 11, 10)
        fileNumber = Int(try records.number(1, 21, 4))
        items = []
        skipped = [:]
        let last = records.starts.count
        var sums = Sums()
        for record in 1...last {
            try records.expect(Int64(record), record, 2, 9, "the record's number")
            guard records.text(record, 11, 10) == originatorID else {
                throw records.failure(record, 11, "the originator id of record A")
            }
            let type = records.byte(record, 1)
            switch type {
            case UInt8(ascii: "A"):
                guard record == 1 else {
                    throw records.failure(record, 1, "no second record A")
                }
            case UInt8(ascii: "Z"):
                guard record == last else {
                    throw records.failure(record, 1, "no record after Z")
                }
                try Self.check(sums, records, record)
            case UInt8(ascii: "C"), UInt8(ascii: "D"), UInt8(ascii: "E"), UInt8(ascii: "F"),
                UInt8(ascii: "I"), UInt8(ascii: "J"):
                try readSegments(of: records, record, type, &sums)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                skipped[String(Unicode.Scalar(type)), default: 0] += 1
            default:
                throw records.failure(record, 1, "the letter of a record")
            }
        }
        guard records.byte(last, 1) == UInt8(ascii: "Z") else {
            throw records.failure(last, 1, "record Z at the end of the file")
        }
    }

    private mutating func readSegments(
        of records: FixedRecords, _ record: Int, _ type: UInt8, _ sums: inout Sums
    ) throws(ReturnFileError) {
        var isOver = false
        for segment in 0..<AFTFile.segmentsPerRecord {
            let start = Self.firstSegment + segment * AFTFile.segmentSize
            if records.text(record, start, AFTFile.segmentSize).isEmpty {
                guard segment > 0 else {
                    throw records.failure(record, start, "a payment in the first segment")
                }
                isOver = true
                continue
            }
            guard !isOver else {
                throw records.failure(record, start, "blanks, as in the previous segment")
            }
            let amount = try records.number(record, start + 3, 10)
            sums.add(amount, to: type)
            if type == UInt8(ascii: "E") || type == UInt8(ascii: "F") {
                if segment == 0 { skipped[String(Unicode.Scalar(type)), default: 0] += 1 }
            } else if let item = try item(in: records, record, start, type, amount) {
                items.append(item)
            }
        }
    }

    private func item(
        in records: FixedRecords, _ record: Int, _ start: Int, _ type: UInt8, _ amount: Int64
    ) throws(ReturnFileError) -> ReturnedDeposit? {
        func field(_ offset: Int, _ width: Int) -> String {
            records.text(record, start + offset, width)
        }
        let isReturn = type == UInt8(ascii: "I") || type == UInt8(ascii: "J")
        let code = try records.number(record, start, 3)
        var reason = String(code)
        if !isReturn {
            let invalid = field(229, 11).contains { $0 != "0" }
            guard invalid || code >= 900 else { return nil }
            reason = code >= 900 ? reason : "900"
        } else if code < 900 {
            // Some banks put the reason into the stored transaction type.
            let stored = try records.number(record, start + 62, 3)
            if stored >= 900 { reason = String(stored) }
        }
        // A rejected payment has only its own trace number.
        let trace = isReturn ? field(205, 22) : field(40, 22)
        return ReturnedDeposit(
            kind: isReturn ? .returned : .rejected, reference: field(150, 19), trace: trace,
            amount: amount, isCredit: type == UInt8(ascii: "I") || type == UInt8(ascii: "C"),
            reason: .named(reason), record: record)
    }

    /// Compares the sums with record Z: D and J, C and I, E, F.
    private static func check(
        _ sums: Sums, _ records: FixedRecords, _ record: Int
    ) throws(ReturnFileError) {
        for (column, letters) in [(25, "DJ"), (47, "CI"), (69, "E"), (91, "F")] {
            let amount = letters.utf8.reduce(0) { $0 + sums.amount[$1, default: 0] }
            let count = letters.utf8.reduce(0) { $0 + sums.count[$1, default: 0] }
            try records.expect(amount, record, column, 14, "the sum of records \(letters)")
            try records.expect(count, record, column + 14, 8, "the number of items \(letters)")
        }
    }
}
