/// When something happens again: at the times of a cron expression, or at a steady interval.
public enum Recurrence: Sendable, Hashable, CustomStringConvertible {
    /// At the local times that an expression names.
    case cron(CronExpression)
    /// An interval in seconds, from 1 to 366 days, independent of clock changes.
    case every(seconds: Int)

    /// Reads a cron expression, a macro such as `@daily`, or an interval such as `@every 1h30m`.
    public init(_ text: String) throws(RecurrenceError) {
        let words = Word.split(text)
        if let first = words.first, first.text.lowercased() == "@every" {
            self = .every(seconds: try Interval.seconds(in: words))
        } else {
            self = .cron(try CronExpression(text))
        }
    }

    /// The text in its normal form, from which the same recurrence can be read.
    public var description: String {
        switch self {
        case .cron(let expression): expression.description
        case .every(let seconds): "@every " + Interval.text(seconds)
        }
    }
}

/// The lengths that `@every` takes.
enum Interval {
    /// One second to 366 days.
    static let allowed = 1...366 * 86_400

    private static let units: [(letter: Unicode.Scalar, seconds: Int)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]
    private static let example = "a length such as 90s or 1h30m"

    /// The length that `@every` and the words after it give.
    static func seconds(in words: [Word]) throws(RecurrenceError) -> Int {
        guard words.count > 1 else {
            throw fault(words[0].end, "nothing follows @every", example)
        }
        if words.count > 2 {
            throw fault(
                words[2].column, "`\(words[2].shown)` after the length",
                "one word: 1h30m, not 1h 30m")
        }
        return try seconds(in: words[1])
    }

    private static func seconds(in word: Word) throws(RecurrenceError) -> Int {
        if word.scalars[0] == "-" {
            throw fault(word.column, "\(word.shown) is negative", example)
        }
        var sum = 0
        var index = 0
        while index < word.scalars.count {
            sum += try part(of: word, at: &index)
            if sum > allowed.upperBound {
                throw fault(word.column, "\(word.shown) is too long", "at most 366d")
            }
        }
        if sum == 0 { throw fault(word.column, "\(word.shown) is no time at all", "at least 1s") }
        return sum
    }

    /// One number and its unit.
    private static func part(
        of word: Word, at index: inout Int
    ) throws(RecurrenceError) -> Int {
        let column = word.column + index
        var number = 0
        let first = index
        while index < word.scalars.count, let digit = word.scalars[index].digit {
            number = min(number * 10 + digit, allowed.upperBound + 1)
            index += 1
        }
        let written = word.shown(first..<index)
        guard index < word.scalars.count else {
            throw fault(column, "\(written) has no unit", "one of s, m, h, d and w after it")
        }
        let letter = word.scalars[index]
        if letter == "." || letter == "," {
            throw fault(
                word.column, "\(word.shown) has a fraction", "whole numbers: 1m30s, not 1.5m")
        }
        guard index > first else {
            throw fault(column, "`\(letter)` where a length begins", example)
        }
        guard let unit = units.first(where: { $0.letter == letter.lowercase }) else {
            throw fault(
                word.column + index, "`\(letter)` is no unit of time", "s, m, h, d or w")
        }
        index += 1
        return number * unit.seconds
    }

    /// A length in the words that `@every` reads.
    static func text(_ seconds: Int) -> String {
        var rest = seconds
        var text = ""
        for unit in units.dropFirst() where rest >= unit.seconds {
            text += "\(rest / unit.seconds)\(unit.letter)"
            rest %= unit.seconds
        }
        return text.isEmpty ? "\(seconds)s" : text
    }

    private static func fault(_ column: Int, _ found: String, _ expected: String) -> RecurrenceError
    {
        .malformed(column: column, field: nil, found: found, expected: expected)
    }
}
