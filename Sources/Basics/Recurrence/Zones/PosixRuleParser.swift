/// Why a TZ string of POSIX cannot be used.
enum PosixRuleProblem: Error, Equatable, CustomStringConvertible {
    case abbreviation(String)
    case offset(String)
    case noMoments
    case day(String)
    case time(String)
    case noComma(String)
    case remainder(String)
    case endsBeforeItBegins

    var description: String {
        switch self {
        case .abbreviation(let rest):
            "an abbreviation of three letters or more, or one in <>, is expected at \"\(rest)\""
        case .offset(let rest):
            "an offset such as 5 or -3:30, of 24 hours at most, is expected at \"\(rest)\""
        case .noMoments: "it has a summer time but does not say when"
        case .day(let rest): "a day such as M3.2.0, J60 or 59 is expected at \"\(rest)\""
        case .time(let rest):
            "a time such as 2 or -1:30, of 167 hours at most, is expected at \"\(rest)\""
        case .noComma(let rest): "a comma is expected at \"\(rest)\""
        case .remainder(let rest): "nothing more is expected at \"\(rest)\""
        case .endsBeforeItBegins: "its summer time ends before it begins"
        }
    }
}

extension PosixRule {
    /// Reads a TZ string such as `EST5EDT,M3.2.0,M11.1.0` or `<+0330>-3:30`.
    ///
    /// The range of times is RFC 9636's, -167 to 167 hours, whatever the version of the file.
    init(parsing text: String) throws(PosixRuleProblem) {
        var scanner = PosixRuleScanner(bytes: Array(text.utf8))
        try scanner.skipAbbreviation()
        let standard = try scanner.offset()
        guard !scanner.isAtEnd else {
            self.init(standard: standard)
            return
        }
        try scanner.skipAbbreviation()
        // Without an offset of its own, summer time is an hour ahead.
        var offset = standard + 3600
        if let next = scanner.next, next != UInt8(ascii: ",") { offset = try scanner.offset() }
        guard !scanner.isAtEnd else { throw .noMoments }
        try scanner.skipComma()
        let begin = try scanner.moment()
        try scanner.skipComma()
        let end = try scanner.moment()
        guard scanner.isAtEnd else { throw .remainder(scanner.rest) }
        try self.init(
            summer: SummerTime(
                standard: standard, offset: offset, begin: begin, end: end))
    }
}

/// A place in a TZ string.
private struct PosixRuleScanner {
    let bytes: [UInt8]
    var place = 0

    var isAtEnd: Bool { place == bytes.count }
    var next: UInt8? { place < bytes.count ? bytes[place] : nil }
    /// For messages.
    var rest: String {
        String(decoding: bytes[place...].prefix(40), as: UTF8.self)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    /// A number of at most three digits.
    private mutating func number() -> Int? {
        let begin = place
        var value = 0
        while let digit = next, (48...57).contains(digit), place < begin + 3 {
            value = value * 10 + Int(digit) - 48
            place += 1
        }
        return place == begin ? nil : value
    }

    private mutating func number(in range: ClosedRange<Int>) -> Int? {
        guard let value = number(), range.contains(value) else { return nil }
        return value
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    private mutating func signedTime(upToHours limit: Int) -> Int? {
        let isNegative = take("-")
        if !isNegative { _ = take("+") }
        guard let hours = number(in: 0...limit) else { return nil }
        var seconds = hours * 3600
        if take(":") {
            guard let minutes = number(in: 0...59) else { return nil }
            seconds += minutes * 60
            if take(":") {
                guard let more = number(in: 0...59) else { return nil }
                seconds += more
            }
        }
        return isNegative ? -seconds : seconds
    }

    mutating func skipAbbreviation() throws(PosixRuleProblem) {
        let problem = PosixRuleProblem.abbreviation(rest)
        let isQuoted = take("<")
        let begin = place
        while let character = next, Self.isInAbbreviation(character, isQuoted: isQuoted) {
            place += 1
        }
        guard place >= begin + 3, !isQuoted || take(">") else { throw problem }
    }

    private static func isInAbbreviation(_ character: UInt8, isQuoted: Bool) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"): isQuoted
        default: false
        }
    }

    /// The seconds that local time is ahead of UTC; POSIX writes how far it is behind.
    mutating func offset() throws(PosixRuleProblem) -> Int {
        let problem = PosixRuleProblem.offset(rest)
        guard let behind = signedTime(upToHours: 24) else { throw problem }
        return -behind
    }

    mutating func skipComma() throws(PosixRuleProblem) {
        guard take(",") else { throw .noComma(rest) }
    }

    /// `date[/time]`; without a time it is 02:00.
    mutating func moment() throws(PosixRuleProblem) -> YearlyMoment {
        let problem = PosixRuleProblem.day(rest)
        guard let day = day() else { throw problem }
        guard take("/") else { return YearlyMoment(day: day, time: 7200) }
        let timeProblem = PosixRuleProblem.time(rest)
        guard let time = signedTime(upToHours: 167) else { throw timeProblem }
        return YearlyMoment(day: day, time: time)
    }

    private mutating func day() -> YearlyMoment.Day? {
        if take("J") { return number(in: 1...365).map { .withoutLeapDay($0) } }
        guard take("M") else { return number(in: 0...365).map { .sinceNewYear($0) } }
        guard let month = number(in: 1...12), take("."),
            let week = number(in: 1...5), take("."),
            let weekday = number(in: 0...6)
        else { return nil }
        return .weekday(weekday, week: week, month: month)
    }
}
