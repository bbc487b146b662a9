public import ErrandGregorian

/// What clocks and calendars of a zone show at a second.
public struct LocalTime: Sendable, Hashable, CustomStringConvertible {
    /// The day.
    public let date: CivilDate
    /// Seconds since its midnight, 0 to 86,399.
    public let secondOfDay: Int
    /// By how many seconds it is ahead of UTC.
    public let offset: Int
    /// Whether the zone is universal time itself.
    public let isUniversal: Bool
    private let second: Int

    /// The local time of a second since 1970 UTC.
    public init(_ second: Int, in zone: Zone) {
        self.init(
            second, offset: zone.segment(at: second).offset,
            isUniversal: ZoneName.universal.contains(zone.name))
    }

    private init(_ second: Int, offset: Int, isUniversal: Bool) {
        let (sum, isBeyond) = second.addingReportingOverflow(offset)
        let local = isBeyond ? second : sum
        let rest = local % 86_400
        date = CivilDate(daysSince1970: local.dividedDown(by: 86_400))
        secondOfDay = rest < 0 ? rest + 86_400 : rest
        self.second = second
        self.offset = offset
        self.isUniversal = isUniversal
    }

    /// RFC 3339, such as `2026-11-01T01:30:00-04:00`; in universal time `2026-11-01T05:30:00Z`.
    ///
    /// That format has offsets of whole minutes only. A historic one with seconds is shown as the
    /// nearest that can be written, with the clock moved along, so that the text still means the
    /// same second. Years outside of 0 to 9999 are written with a sign, as ISO 8601 has it.
    public var description: String {
        let rounded = (offset + 30).dividedDown(by: 60) * 60
        guard rounded == offset else {
            return LocalTime(second, offset: rounded, isUniversal: isUniversal).description
        }
        let time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60]
        return "\(date.text)T\(time.map(twoDigits).joined(separator: ":"))"
            + (isUniversal ? "Z" : offsetText)
    }

    /// Its offset as hours and minutes, such as `-04:00`.
    var offsetText: String {
        let minutes = abs(offset) / 60
        return (offset < 0 ? "-" : "+") + twoDigits(minutes / 60) + ":"
            + twoDigits(minutes % 60)
    }
}

extension CivilDate {
    /// ISO 8601, such as `2026-11-01`.
    var text: String {
        let digits = String(year.magnitude)
        let padding = String(repeating: "0", count: max(0, 4 - digits.count))
        let sign = year < 0 ? "-" : year > 9999 ? "+" : ""
        return "\(sign)\(padding)\(digits)-\(twoDigits(month))-\(twoDigits(day))"
    }
}

private func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
