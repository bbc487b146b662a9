/// The fixed-size records of a bank's file; errors have the record and column.
struct FixedRecords {
    private let bytes: [UInt8]
    /// The offset of each record.
    let starts: [Int]
    let size: Int

    /// Splits a file into records of one size, which end with CR LF, LF or nothing.
    init(_ bytes: [UInt8], size: Int) throws(ReturnFileError) {
        var starts: [Int] = []
        var place = 0
        while place < bytes.count {
            // Files of some old systems end with a substitute character.
            if bytes[place] == 0x1A, place + 1 == bytes.count { break }
            let record = starts.count + 1
            for offset in 0..<size {
                guard place + offset < bytes.count else {
                    throw ReturnFileError(
                        record: record, column: offset + 1, expected: "\(size) bytes per record")
                }
                guard (0x20...0x7E).contains(bytes[place + offset]) else {
                    throw ReturnFileError(
                        record: record, column: offset + 1, expected: "a printable ASCII character")
                }
            }
            starts.append(place)
            place += size
            if place < bytes.count, bytes[place] == 13 { place += 1 }
            if place < bytes.count, bytes[place] == 10 { place += 1 }
        }
        self.bytes = bytes
        self.starts = starts
        self.size = size
        guard !starts.isEmpty else {
            throw ReturnFileError(record: 1, column: 1, expected: "a file that is not empty")
        }
    }

    /// The byte of a record at a column, both counted from 1.
    func byte(_ record: Int, _ column: Int) -> UInt8 { bytes[starts[record - 1] + column - 1] }

    /// The text of a field without leading and trailing blanks.
    func text(_ record: Int, _ column: Int, _ width: Int) -> String {
        let start = starts[record - 1] + column - 1
        var field = bytes[start..<start + width]
        field = field.drop { $0 == 0x20 }
        while field.last == 0x20 { field.removeLast() }
        return String(decoding: field, as: UTF8.self)
    }

    /// The number in a field of digits.
    func number(_ record: Int, _ column: Int, _ width: Int) throws(ReturnFileError) -> Int64 {
        var value: Int64 = 0
        for offset in 0..<width {
            let digit = byte(record, column + offset)
            guard (48...57).contains(digit) else {
                throw failure(record, column + offset, "a digit")
            }
            value = value * 10 + Int64(digit) - 48
        }
        return value
    }

    /// Throws if a field has another number.
    func expect(
        _ value: Int64, _ record: Int, _ column: Int, _ width: Int, _ what: String
    ) throws(ReturnFileError) {
        guard try number(record, column, width) == value else {
            throw failure(record, column, "\(what) to be \(value)")
        }
    }

    func failure(_ record: Int, _ column: Int, _ expected: String) -> ReturnFileError {
        ReturnFileError(record: record, column: column, expected: expected)
    }
}
