public import FoundationEssentials
import ErrandGregorian

/// A point in time, like PostgreSQL's `timestamptz`: whole microseconds since 2000-01-01 UTC.
public struct Instant: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The microseconds since 2000-01-01 00:00 UTC; negative before.
    public var microseconds: Int64

    /// Creates an instant from microseconds since 2000-01-01 00:00 UTC.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The instant after all others.
    public static let infinity = Instant(microseconds: .max)
    /// The instant before all others.
    public static let negativeInfinity = Instant(microseconds: .min)

    /// Seconds from 1970 to 2000.
    private static let unixEpoch: Int64 = 946_684_800

    /// Creates the nearest instant to a date.
    public init(date: Date) {
        let seconds = date.timeIntervalSinceReferenceDate
        // Foundation counts from 2001-01-01, 366 days later.
        let microseconds = (seconds * 1_000_000).rounded() + 366 * 86_400 * 1_000_000
        self.microseconds = Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }

    /// The same point in time as a `Date`.
    ///
    /// The infinities become the distant future and past.
    public var date: Date {
        if self == .infinity { return .distantFuture }
        if self == .negativeInfinity { return .distantPast }
        return Date(
            timeIntervalSinceReferenceDate: Double(microseconds - 366 * 86_400 * 1_000_000)
                / 1_000_000)
    }

    /// Returns the current time of this machine.
    public static func now() -> Instant { Instant(date: Date()) }

    /// Orders by time.
    public static func < (left: Self, right: Self) -> Bool {
        left.microseconds < right.microseconds
    }

    /// Returns a later instant, or an earlier one for a negative duration.
    ///
    /// An infinity does not change, and a result out of range becomes an infinity.
    public func adding(_ duration: Duration) -> Instant {
        if self == .infinity || self == .negativeInfinity { return self }
        let (seconds, attoseconds) = duration.components
        let (scaled, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, isTooFar) = microseconds.addingReportingOverflow(scaled)
        let (exact, isBeyond) = sum.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        guard !isTooLong, !isTooFar, !isBeyond else {
            return duration < .zero ? .negativeInfinity : .infinity
        }
        return Instant(microseconds: exact)
    }

    /// Returns the duration from another instant to this one.
    public func durationSince(_ other: Instant) -> Duration {
        let (length, overflow) = microseconds.subtractingReportingOverflow(other.microseconds)
        return .microseconds(overflow ? (self < other ? .min : .max) : length)
    }

    /// The RFC 3339 text in UTC, with the necessary decimals.
    public var description: String {
        if self == .infinity { return "infinity" }
        if self == .negativeInfinity { return "-infinity" }
        let dayLength = 86_400 * 1_000_000
        let days = Int(microseconds).dividedDown(by: dayLength)
        let rest = Int(microseconds) - days * dayLength
        let date = CivilDate(daysSince1970: days + 10_957)
        let seconds = rest / 1_000_000
        var text = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-"
        text += "\(Self.padded(date.day, 2))T"
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

    /// Parses RFC 3339, such as `2026-11-20T08:00:00Z`, with decimals and any offset; nil for other
    /// texts.
    public init?(_ text: some StringProtocol) {
        switch text {
        case "infinity":
            self = .infinity
            return
        case "-infinity":
            self = .negativeInfinity
            return
        default: break
        }
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int) -> Int? {
            guard rest.count >= digits else { return nil }
            var value = 0
            for _ in 0..<digits {
                guard let byte = rest.popFirst(), (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
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
            (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            hour < 24,
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
        var offset = 0
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
            (CivilDate(year: year, month: month, day: day).daysSince1970 - 10_957) * 86_400
            + hour * 3600 + minute * 60 + second - offset
        microseconds = Int64(seconds) * 1_000_000 + fraction
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}

extension Instant {
    /// Decodes RFC 3339 text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let instant = Instant(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected an RFC 3339 time, not \(text)")
        }
        self = instant
    }

    /// Encodes RFC 3339 text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
