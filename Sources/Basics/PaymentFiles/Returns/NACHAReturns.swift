/// A parsed file of returned payments and notices of change from a bank in the United States.
///
/// Each entry (record 6) is followed by an addenda record 7 of type 99, a return, or 98, a notice
/// of change. The bank's corrected details are ignored: they may contain an account number, and
/// the person must confirm them anyway.
///
/// The parser is strict about the structure: records of 94 bytes, opened and closed batches, and
/// matching counts, hashes and sums.
package struct NACHAReturns: Sendable, Equatable {
    /// The items in the order of the file.
    package var items: [ReturnedDeposit] = []

    private static let hashModulus: Int64 = 10_000_000_000

    /// The totals of a control record.
    private struct Sums {
        var records: Int64 = 0
        var hash: Int64 = 0
        var debits: Int64 = 0
        var credits: Int64 = 0
        var batches: Int64 = 0

        mutating func add(_ other: Sums) {
            records += other.records
            hash = (hash + other.hash) % NACHAReturns.hashModulus
            debits += other.debits
            credits += other.credits
            batches += 1
        }
    }

    /// The state of the parser.
    private struct Progress {
        var file = Sums()
        var batch: Sums?
        /// The entry that still lacks its addenda.
        var entry: Int?
        var isEnded = false
    }

    /// Parses a file.
    package init(_ bytes: [UInt8]) throws(ReturnFileError) {
        let records = try FixedRecords(bytes, size: NACHAFile.recordSize)
        var progress = Progress()
        for record in 1...records.starts.count {
            let type = records.byte(record, 1)
            guard (record == 1) == (type == UInt8(ascii: "1")) else {
                throw records.failure(record, 1, "record 1 as the first record only")
            }
            if progress.isEnded {
                guard records.text(record, 1, 94).allSatisfy({ $0 == "9" }) else {
                    throw records.failure(record, 1, "nines after the end of the file")
                }
                continue
            }
            if progress.entry != nil, type != UInt8(ascii: "7") {
                throw records.failure(record, 1, "the addenda (7) of the previous entry")
            }
            try read(type, records, record, &progress)
        }
        guard progress.isEnded else {
            throw records.failure(
                records.starts.count, 1, "record 9 at the end of the file")
        }
    }

    private mutating func read(
        _ type: UInt8, _ records: FixedRecords, _ record: Int, _ progress: inout Progress
    ) throws(ReturnFileError) {
        switch type {
        case UInt8(ascii: "1"):
            guard records.text(record, 35, 5) == "09410" else {
                throw records.failure(record, 35, "094 and 10: records of 94 in blocks of 10")
            }
        case UInt8(ascii: "5"):
            guard progress.batch == nil else {
                throw records.failure(record, 1, "the end (8) of the previous batch")
            }
            progress.batch = Sums()
        case UInt8(ascii: "6"):
            try readEntry(records, record, &progress)
        case UInt8(ascii: "7"):
            try readAddenda(records, record, &progress)
        case UInt8(ascii: "8"):
            guard let batch = progress.batch else {
                throw records.failure(record, 1, "an open batch")
            }
            try records.expect(batch.records, record, 5, 6, "the count of the batch")
            try records.expect(batch.hash, record, 11, 10, "the hash of the batch")
            try records.expect(batch.debits, record, 21, 12, "the debits of the batch")
            try records.expect(batch.credits, record, 33, 12, "the credits of the batch")
            progress.file.add(batch)
            progress.batch = nil
        case UInt8(ascii: "9"):
            guard progress.batch == nil else {
                throw records.failure(record, 1, "the end (8) of the previous batch")
            }
            let file = progress.file
            try records.expect(file.batches, record, 2, 6, "the number of batches")
            try records.expect(file.records, record, 14, 8, "the count of the file")
            try records.expect(file.hash, record, 22, 10, "the hash of the file")
            try records.expect(file.debits, record, 32, 12, "the debits of the file")
            try records.expect(file.credits, record, 44, 12, "the credits of the file")
            progress.isEnded = true
        default:
            throw records.failure(record, 1, "a record type 1 or 5 to 9")
        }
    }

    private func readEntry(
        _ records: FixedRecords, _ record: Int, _ progress: inout Progress
    ) throws(ReturnFileError) {
        guard progress.batch != nil else { throw records.failure(record, 1, "an open batch") }
        guard records.byte(record, 79) == UInt8(ascii: "1") else {
            throw records.failure(record, 79, "1: each entry of a return file has an addenda")
        }
        let amount = try records.number(record, 30, 10)
        let bank = try records.number(record, 4, 8)
        progress.batch?.records += 1
        progress.batch?.hash += bank
        if try Self.isCredit(records, record) {
            progress.batch?.credits += amount
        } else {
            progress.batch?.debits += amount
        }
        progress.batch?.hash %= Self.hashModulus
        progress.entry = record
    }

    private mutating func readAddenda(
        _ records: FixedRecords, _ record: Int, _ progress: inout Progress
    ) throws(ReturnFileError) {
        guard let entry = progress.entry else {
            throw records.failure(record, 1, "an entry (6) before its addenda")
        }
        progress.batch?.records += 1
        progress.entry = nil
        let isReturn = records.text(record, 2, 2) == "99"
        guard isReturn || records.text(record, 2, 2) == "98" else {
            throw records.failure(record, 2, "98 or 99")
        }
        let code = records.text(record, 4, 3)
        guard code.first == (isReturn ? "R" : "C"), Int(code.dropFirst()) != nil else {
            throw records.failure(record, 4, isReturn ? "R and two digits" : "C and two digits")
        }
        items.append(
            ReturnedDeposit(
                kind: isReturn ? .returned : .change, reference: records.text(entry, 40, 15),
                trace: records.text(record, 7, 15), amount: try records.number(entry, 30, 10),
                isCredit: try Self.isCredit(records, entry), reason: .named(code), record: entry))
    }

    /// Whether an entry is a credit: the second digit of the transaction code is 0 to 4.
    private static func isCredit(
        _ records: FixedRecords, _ record: Int
    ) throws(ReturnFileError) -> Bool {
        try records.number(record, 3, 1) < 5
    }
}
