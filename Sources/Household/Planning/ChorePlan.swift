package import Gregorian
import JobQueue
package import Postgres
package import Recurrence
package import RepeatRules

/// On which days a chore comes, by the clocks of its group.
package struct ChorePlan: Sendable {
    /// What makes it come again.
    package enum Mode: Sendable, Equatable {
        case once
        case rule(RecurrenceRule)
        /// So many days after it was done.
        case afterDone(days: Int)
    }

    package var mode: Mode
    package var startsOn: CivilDate
    /// Seconds since midnight at which it is due; nil: by the end of its day.
    package var atTime: Int?
    package var zone: Zone

    package init(_ mode: Mode, startsOn: CivilDate, atTime: Int? = nil, zone: Zone) {
        self.mode = mode
        self.startsOn = startsOn
        self.atTime = atTime
        self.zone = zone
    }

    /// The day on which it comes next; nil when it does not come any more.
    ///
    /// What a rule names for days that are over is left out, so that a chore never comes for all
    /// that was missed; what comes once comes even then.
    /// - Parameters:
    ///   - last: the day on which it came last.
    ///   - ended: when that was done, or skipped.
    package func next(
        after last: CivilDate?, ended: Instant?, now: Instant
    ) throws(RecurrenceRuleError) -> CivilDate? {
        let today = zone.day(of: now)
        switch mode {
        case .once: return last.map { $0 < startsOn } ?? true ? startsOn : nil
        case .rule(let rule):
            let yesterday = today.adding(days: -1)
            // The first of all is searched for apart: a rule that never names a day is an error.
            let first = try rule.dates(from: startsOn).first
            let passed = max(last ?? yesterday, yesterday)
            if let first, first > passed { return first }
            return try rule.dates(from: startsOn, after: passed).first
        case .afterDone(let days):
            guard let last else { return startsOn }
            let done = ended.map { zone.day(of: $0) } ?? last
            return max(done.adding(days: days), last.adding(days: 1), today)
        }
    }

    /// When its occurrence of a day is given to somebody: as the day begins.
    package func begin(of day: CivilDate) -> Instant {
        Instant(unixSeconds: zone.firstSecond(of: 0, onDay: day.daysSince1970))
    }

    /// From when on it is overdue.
    package func due(on day: CivilDate) -> Instant {
        guard let atTime else { return begin(of: day.adding(days: 1)) }
        return Instant(unixSeconds: zone.firstSecond(of: atTime, onDay: day.daysSince1970))
    }
}

extension CivilDate {
    package func adding(days: Int) -> CivilDate {
        CivilDate(daysSince1970: daysSince1970 + days)
    }

    /// ISO 8601, for a parameter.
    var sql: String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}

extension Zone {
    /// The day that calendars show.
    package func day(of now: Instant) -> CivilDate {
        LocalTime(now.secondRoundedDown, in: self).date
    }
}
