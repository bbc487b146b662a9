import ErrandGregorian

@testable import ErrandRecurrence

/// The second since 1970 of a time in UTC, or of a local time as if it were.
func second(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0
) -> Int {
    let days = CivilDate(year: year, month: month, day: day).daysSince1970
    return days * 86_400 + hour * 3_600 + minute * 60 + second
}

extension Zone {
    /// A zone by its first offset and its transitions, with offsets in minutes.
    static func made(_ name: String, _ first: Int, _ changes: [(at: Int, minutes: Int)]) -> Zone {
        var segments = [ZoneSegment(start: .min, end: .max, offset: first * 60)]
        for change in changes {
            segments[segments.count - 1].end = change.at
            segments.append(ZoneSegment(start: change.at, end: .max, offset: change.minutes * 60))
        }
        return Zone(name: name, segments: segments)
    }

    /// Toronto around 2026.
    static let toronto2026 = made(
        "America/Toronto", -300,
        [(second(2026, 3, 8, 7), -240), (second(2026, 11, 1, 6), -300)])
}

extension Occurrence {
    /// Its local time and offset, such as `2026-03-08T03:00-04:00`, and what the clocks did.
    var text: String {
        let local = at + offset
        let minutes = abs(offset) / 60
        let sign = offset < 0 ? "-" : "+"
        let zone = "\(sign)\(two(minutes / 60)):\(two(minutes % 60))"
        var text = clock(local) + zone
        switch change {
        case nil: break
        case .movedFromGap(let local): text += " moved from \(clock(local))"
        case .firstOfTwo: text += " first"
        case .secondOfTwo: text += " second"
        case .onlyOneOfTwo: text += " only"
        }
        if let skippedLocal { text += " skipped \(clock(skippedLocal))" }
        return text
    }
}

private func clock(_ local: Int) -> String {
    let days = local.dividedDown(by: 86_400)
    let time = local - days * 86_400
    let date = CivilDate(daysSince1970: days)
    let day = "\(date.year)-\(two(date.month))-\(two(date.day))"
    let seconds = time % 60 == 0 ? "" : ":\(two(time % 60))"
    return "\(day)T\(two(time / 3_600)):\(two(time / 60 % 60))\(seconds)"
}

private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

extension Timetable {
    /// All occurrences from `start` until before `end`, by stepping forward.
    func forward(_ start: Int, _ end: Int) -> [Occurrence] {
        var found: [Occurrence] = []
        var last = start - 1
        while let occurrence = next(after: last), occurrence.at < end {
            found.append(occurrence)
            if occurrence.at <= last { break }
            last = occurrence.at
        }
        return found
    }

    /// The same by stepping backward, first to last.
    func backward(_ start: Int, _ end: Int) -> [Occurrence] {
        var found: [Occurrence] = []
        var last = end
        while let occurrence = previous(before: last), occurrence.at >= start {
            found.append(occurrence)
            if occurrence.at >= last { break }
            last = occurrence.at
        }
        return found.reversed()
    }
}
