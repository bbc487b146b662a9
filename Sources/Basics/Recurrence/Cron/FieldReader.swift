/// Reads one field of a cron expression.
struct FieldReader {
    let field: CronField
    let word: Word
    /// The index of the character to be read next.
    var index = 0
    var values = FieldValues()

    /// What the field says.
    static func read(_ word: Word, as field: CronField) throws(RecurrenceError) -> FieldValues {
        var reader = FieldReader(field: field, word: word)
        try reader.readList()
        let first = word.scalars[0]
        reader.values.unrestricted = first == "*" || first == "?"
        reader.values.everyOne = first == "*" || reader.namesAll
        return reader.values
    }

    private var namesAll: Bool {
        field.distinct.allSatisfy { values.numbers.has($0) }
    }

    /// The character to be read next; nil at the end.
    var next: Unicode.Scalar? { index < word.scalars.count ? word.scalars[index] : nil }

    /// Steps over a character if it comes next.
    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next?.lowercase == scalar else { return false }
        index += 1
        return true
    }

    private mutating func readList() throws(RecurrenceError) {
        if next == "?" { return try readQuestionMark() }
        repeat {
            if next == nil { throw fault(index, "nothing follows `,`", field.expected) }
            try readItem()
        } while take(",")
        if let next { throw unexpected(next) }
    }

    private mutating func readQuestionMark() throws(RecurrenceError) {
        guard field == .dayOfMonth || field == .weekday else {
            throw fault(
                index, "`?` stands only in the day of month and the weekday",
                "`*` or \(field.expected)")
        }
        guard word.scalars.count == 1 else { throw fault(1, "more than `?`", "`?` alone") }
        index += 1
        add(field.distinct, step: 1)
    }

    private mutating func readItem() throws(RecurrenceError) {
        let start = index
        if take("*") {
            add(field.distinct, step: try readStep() ?? 1)
        } else if let next, next.digit != nil || next.isLetter {
            if try readSpecialWord() { return }
            let low = try readValue()
            if try readSuffix(of: low, from: start) { return }
            try readRange(from: low, start: start)
        } else {
            throw missingValue()
        }
    }

    /// The rest of `a`, `a-b`, `a-b/n` and `a/n`.
    private mutating func readRange(from low: Int, start: Int) throws(RecurrenceError) {
        var high: Int?
        if take("-") {
            guard let first = next, first.digit != nil || first.isLetter else {
                throw fault(index, "nothing follows `-`", "the end of the range, \(field.expected)")
            }
            let last = try readValue()
            if last < low { throw reversed(low, last, start: start) }
            high = last
            if next?.lowercase == "w" { throw workdayInRange() }
        }
        let step = try readStep()
        if step != nil, high == nil { values.openStep = true }
        let end = high ?? (step == nil ? low : max(low, field.distinct.upperBound))
        add(low...end, step: step ?? 1)
    }

    private mutating func add(_ range: ClosedRange<Int>, step: Int) {
        for number in stride(from: range.lowerBound, through: range.upperBound, by: step) {
            values.numbers |= 1 << UInt64(number)
        }
    }

    /// The number behind a slash, if there is one.
    private mutating func readStep() throws(RecurrenceError) -> Int? {
        guard take("/") else { return nil }
        let start = index
        let most = field.range.upperBound - field.range.lowerBound
        guard let step = readNumber() else {
            throw fault(start, "no number follows `/`", "a step, 1 to \(most)")
        }
        if step == 0 { throw fault(start, "a step of 0 goes nowhere", "1 to \(most)") }
        if step > most {
            throw fault(
                start, "a step of \(word.shown(start..<index)) is too large", "1 to \(most)")
        }
        return step
    }

    /// The digits that come next, as a number that is at most 1000; nil without any.
    mutating func readNumber() -> Int? {
        var number: Int?
        while let digit = next?.digit {
            number = min((number ?? 0) * 10 + digit, 1000)
            index += 1
        }
        return number
    }

    /// A number or a name, within the range of the field.
    private mutating func readValue() throws(RecurrenceError) -> Int {
        let start = index
        guard let number = readNumber() else { return try readName() }
        let written = word.shown(start..<index)
        if next == "." {
            throw fault(
                start, "`\(word.shown(start..<word.scalars.count))` has a fraction", "whole numbers"
            )
        }
        if number < field.range.lowerBound {
            throw fault(start, "\(written) is too small", field.expected)
        }
        if number > field.range.upperBound {
            throw fault(start, "\(written) is too large", field.expected)
        }
        return number
    }

    private mutating func readName() throws(RecurrenceError) -> Int {
        let start = index
        while let letter = next, letter.isLetter { index += 1 }
        var name = word.text(start..<index).uppercased()
        if field == .weekday, name.count == 4, name.hasSuffix("L") {
            name.removeLast()
            index -= 1
        }
        if let place = field.names.firstIndex(of: name) { return place + field.range.lowerBound }
        throw unknown(name, at: start)
    }
}
