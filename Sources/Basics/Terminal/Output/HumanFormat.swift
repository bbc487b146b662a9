package import FoundationEssentials
import ErrandGregorian

/// Formats of numbers, durations and times for people.
package enum HumanFormat {
    /// A count with thousands separators: `1,234,567`.
    package static func count(_ value: Int) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// A number with a fixed number of decimals and thousands separators: `1,234.50`.
    package static func number(_ value: Double, decimals: Int) -> String {
        guard value.isFinite else { return "\(value)" }
        let scale = (0..<max(0, decimals)).reduce(1.0) { product, _ in product * 10 }
        let scaled = (value.magnitude * scale).rounded()
        guard let units = Int(exactly: scaled), let unit = Int(exactly: scale) else {
            return "\(value)"
        }
        let sign = value < 0 && units > 0 ? "-" : ""
        guard decimals > 0 else { return sign + count(units) }
        return sign + count(units / unit) + "." + padded(units % unit, to: decimals)
    }

    /// An estimated number: `~850`, `~12k`, `~4.2M`.
    package static func estimate(_ value: Int) -> String {
        var size = Double(value)
        let units = ["", "k", "M", "G", "T"]
        var index = 0
        while size.magnitude >= 999.5, index < units.count - 1 {
            size /= 1000
            index += 1
        }
        let decimals = index > 0 && size.magnitude < 9.95 ? 1 : 0
        return "~" + number(size, decimals: decimals) + units[index]
    }

    /// A rate: `12,345/s`, with a decimal below ten.
    package static func rate(_ perSecond: Double) -> String {
        number(perSecond, decimals: perSecond < 9.95 ? 1 : 0) + "/s"
    }

    /// A size in bytes, in powers of 1024: `512 B`, `1.5 KiB`, `20 MiB`.
    package static func bytes(_ value: Int) -> String {
        var size = Double(value)
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var index = 0
        while size.magnitude >= 1023.5, index < units.count - 1 {
            size /= 1024
            index += 1
        }
        let decimals = index > 0 && size.magnitude < 9.95 ? 1 : 0
        return number(size, decimals: decimals) + " " + units[index]
    }

    /// A duration in at most two units: `85 µs`, `1.2 ms`, `3.4 s`, `3 m 04 s`, `2 d 05 h`.
    package static func duration(_ value: Duration) -> String {
        if value < .zero { return "-" + duration(.zero - value) }
        if value == .zero { return "0 s" }
        // A row may have any duration.
        let seconds = min(value / .seconds(1), 1e15)
        if seconds < 0.000_999_5 { return number(seconds * 1_000_000, decimals: 0) + " µs" }
        if seconds < 0.999_5 { return short(seconds * 1000) + " ms" }
        if seconds < 59.5 { return short(seconds) + " s" }
        let whole = Int(seconds.rounded())
        if whole < 3600 { return "\(whole / 60) m \(padded(whole % 60, to: 2)) s" }
        let minutes = Int((seconds / 60).rounded())
        if minutes < 24 * 60 { return "\(minutes / 60) h \(padded(minutes % 60, to: 2)) m" }
        let hours = Int((seconds / 3600).rounded())
        return "\(count(hours / 24)) d \(padded(hours % 24, to: 2)) h"
    }

    /// The age or the remaining time: `3 m ago`, `in 12 s`, `just now`.
    package static func age(of time: Date, now: Date) -> String {
        let seconds = now.timeIntervalSince(time)
        if seconds.magnitude < 0.5 { return "just now" }
        let length = largestUnit(seconds.magnitude)
        return seconds < 0 ? "in \(length)" : "\(length) ago"
    }

    private static func largestUnit(_ seconds: Double) -> String {
        switch seconds {
        case ..<59.5: "\(Int(seconds.rounded())) s"
        case ..<3600: "\(max(1, Int(seconds / 60))) m"
        case ..<86400: "\(Int(seconds / 3600)) h"
        default: "\(count(Int(min(seconds, 1e15) / 86400))) d"
        }
    }

    /// A duration as the command line accepts it: `90s`, `250ms`, `2h`.
    package static func notation(_ value: Duration) -> String {
        let (seconds, fraction) = value.components
        let milliseconds = fraction / 1_000_000_000_000_000
        if milliseconds != 0 { return "\(seconds * 1000 + milliseconds)ms" }
        for (length, unit): (Int64, String) in [(86400, "d"), (3600, "h"), (60, "m")]
        where seconds != 0 && seconds.isMultiple(of: length) {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }

    /// RFC 3339 in UTC with microseconds, as in JSON: `2026-03-01T08:30:00.250000Z`.
    package static func timestamp(_ time: Date) -> String {
        let (seconds, microseconds) = parts(of: time)
        return civil(seconds, between: "T") + "." + padded(microseconds, to: 6) + "Z"
    }

    /// A time for a table, to the second: `2026-03-01 08:30:00Z`.
    package static func time(_ time: Date) -> String {
        civil(parts(of: time).seconds, between: " ") + "Z"
    }

    /// A local time for a table, with its offset from UTC: `2026-03-01 09:30:00+01`.
    package static func time(_ time: Date, offset: Int) -> String {
        // PostgreSQL's format of offsets: minutes only if they are not zero.
        let minutes = abs(offset) / 60
        let rest = minutes % 60 == 0 ? "" : ":" + padded(minutes % 60, to: 2)
        return civil(parts(of: time).seconds + offset / 60 * 60, between: " ")
            + (offset < 0 ? "-" : "+") + padded(minutes / 60, to: 2) + rest
    }

    private static func parts(of time: Date) -> (seconds: Int, microseconds: Int) {
        // A Date far outside the calendar (distantPast) must not trap the conversion to Int.
        let bounded = min(max(time.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        let total = Int((bounded * 1_000_000).rounded())
        let seconds = Int((Double(total) / 1_000_000).rounded(.down))
        return (seconds, total - seconds * 1_000_000)
    }

    /// A date and time of day, from seconds since 1970.
    static func civil(_ seconds: Int, between separator: String) -> String {
        let days = seconds.dividedDown(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        let second = seconds - days * 86_400
        return "\(padded(date.year, to: 4))-\(padded(date.month, to: 2))-"
            + "\(padded(date.day, to: 2))\(separator)\(padded(second / 3600, to: 2)):"
            + "\(padded(second / 60 % 60, to: 2)):\(padded(second % 60, to: 2))"
    }

    private static func short(_ value: Double) -> String {
        number(value, decimals: value < 9.95 ? 1 : 0)
    }

    static func padded(_ value: Int, to width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
