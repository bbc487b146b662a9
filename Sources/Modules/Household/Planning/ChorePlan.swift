package import ErrandGregorian
import Errand
package import ErrandPostgres
package import ErrandRecurrence
package import ErrandRepeatRules

/// On which days a chore comes, by the clocks of its group.
package struct ChorePlan: Sendable {
    /// What makes it come again.
    package enum Mode: Sendable, Equatable {
        case once
        case rule(RecurrenceRule)
        /// The number of days after it was done.
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

    /// How a turn goes to somebody who gets it at a moment.
    package struct Giving: Sendable, Equatable {
        /// From when on it is overdue.
        package var due: Instant
        /// Nobody is notified before this time.
        package var remindFrom: Instant
    }

    /// When the turn of a day is due that is given at a moment, and when its reminders come.
    ///
    /// The notice that it is due comes at the person's own time of that day or, if that is too
    /// late, as soon as their quiet hours allow. The notice that it is overdue comes at their own
    /// time, too: a day after it was given at the earliest, so that nobody gets both at once.
    ///
    /// What is given later than on its day, because no worker ran or it was asked for late, has
    /// the rest of the day on which it is given.
    package func given(_ day: CivilDate, at now: Instant) -> Giving {
        let today = max(zone.day(of: now), day)
        let tomorrow = begin(of: today.adding(days: 1))
        var due = due(on: today)
        if today > day, due <= now { due = tomorrow }
        return Giving(
            due: due, remindFrom: max(due, tomorrow, now.adding(.seconds(86_400))))
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
