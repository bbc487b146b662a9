public import FoundationEssentials

/// A moment as PostgreSQL's `timestamptz` has it: whole microseconds since 2000-01-01 UTC.
public struct Instant: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Since 2000-01-01 00:00 UTC; negative before.
    public var microseconds: Int64

    /// A moment in PostgreSQL's own count.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Later than every other moment.
    public static let infinity = Instant(microseconds: .max)
    /// Earlier than every other moment.
    public static let negativeInfinity = Instant(microseconds: .min)

    /// Seconds from 1970 to 2000.
    private static let unixEpoch: Int64 = 946_684_800

    /// The nearest microsecond.
    public init(date: Date) {
        let seconds = date.timeIntervalSinceReferenceDate
        // Foundation counts from 2001-01-01, 366 days later.
        let microseconds = (seconds * 1_000_000).rounded() + 366 * 86_400 * 1_000_000
        self.microseconds = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }

    /// The same moment for Foundation.
    public var date: Date {
        Date(
            timeIntervalSinceReferenceDate: Double(microseconds - 366 * 86_400 * 1_000_000)
                / 1_000_000)
    }

    /// This machine's clock.
    public static func now() -> Instant { Instant(date: Date()) }

    /// The earlier is the lesser.
    public static func < (left: Self, right: Self) -> Bool {
        left.microseconds < right.microseconds
    }

    /// A moment later, or earlier for a negative duration.
    public func adding(_ duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        return Instant(
            microseconds: microseconds + seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    /// How long after another moment this one is.
    public func durationSince(_ other: Instant) -> Duration {
        .microseconds(microseconds - other.microseconds)
    }

    /// RFC 3339 in UTC, with as many decimals as are needed.
    public var description: String {
        if self == .infinity { return "infinity" }
        if self == .negativeInfinity { return "-infinity" }
        let dayLength: Int64 = 86_400 * 1_000_000
        let days = microseconds.dividedDown(by: dayLength)
        let rest = microseconds - days * dayLength
        let (year, month, day) = Self.civil(days: days + 10_957)
        let seconds = rest / 1_000_000
        var text = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))T"
        text += Self.padded(seconds / 3600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
        text += Self.padded(seconds % 60, 2)
        let fraction = rest % 1_000_000
        if fraction > 0 {
            var digits = Self.padded(fraction, 6)
            while digits.last == "0" { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }

    /// Reads RFC 3339: `2026-11-20T08:00:00Z`, with decimals and any offset; nil for other texts.
    public init?(_ text: some StringProtocol) {
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int) -> Int64? {
            guard rest.count >= digits else { return nil }
            var value: Int64 = 0
            for _ in 0..<digits {
                guard let byte = rest.popFirst(), (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            return value
        }
        func sign(_ accepted: String) -> UInt8? {
            guard let byte = rest.first, accepted.utf8.contains(byte) else { return nil }
            return rest.popFirst()
        }
        guard let year = number(4), sign("-") != nil, let month = number(2), sign("-") != nil,
            let day = number(2), sign("Tt ") != nil, let hour = number(2), sign(":") != nil,
            let minute = number(2), sign(":") != nil, let second = number(2),
            (1...12).contains(month), (1...Self.days(in: month, year)).contains(day), hour < 24,
            minute < 60, second < 60
        else { return nil }
        var fraction: Int64 = 0
        if sign(".") != nil {
            var unit: Int64 = 100_000
            guard let first = rest.first, (0x30...0x39).contains(first) else { return nil }
            while let byte = rest.first, (0x30...0x39).contains(byte) {
                fraction += Int64(byte - 0x30) * unit
                unit /= 10
                rest = rest.dropFirst()
            }
        }
        var offset: Int64 = 0
        if let mark = sign("+-") {
            guard let hours = number(2), sign(":") != nil, let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (mark == UInt8(ascii: "-") ? -1 : 1)
        } else if sign("Zz") == nil {
            return nil
        }
        guard rest.isEmpty else { return nil }
        let seconds =
            (Self.days(year, month, day) - 10_957) * 86_400 + hour * 3600 + minute * 60 + second
            - offset
        microseconds = seconds * 1_000_000 + fraction
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func days(in month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01, proleptic Gregorian.
    ///
    /// Years are counted from March, so that the leap day is the last of its year.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let monthFromMarch = (month + 9) % 12
        let leaps = shifted / 4 - shifted / 100 + shifted / 400
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return shifted * 365 + leaps + dayOfYear - 719_468
    }

    private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.dividedDown(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int64 {
    fileprivate func dividedDown(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
