package import ErrandGregorian

extension RecurrenceRule {
    /// The number of years searched for the next day.
    package static let horizon = 100

    /// Returns the days of the rule, ascending.
    ///
    /// The start is one of them only if the rule matches it; otherwise COUNT does not count it.
    /// - Parameters:
    ///   - start: DTSTART, from which INTERVAL and COUNT are counted, and which completes the rule.
    ///   - after: the day after which days are returned; nil for all.
    ///   - atMost: the maximum number of days.
    ///   - years: the number of years to search, from the start or `after`.
    /// - Returns: fewer days, or none, if COUNT, UNTIL or the searched years end the rule.
    /// - Throws: ``RecurrenceRuleError/empty(years:)`` if the searched years contain no day at all.
    package func dates(
        from start: CivilDate, after: CivilDate? = nil, atMost: Int = 1,
        within years: Int = RecurrenceRule.horizon
    ) throws(RecurrenceRuleError) -> [CivilDate] {
        let rule = completed(start)
        var walk = RuleWalk(
            rule, from: start, after: after, atMost: atMost, within: years)
        try CalendarLibrary.visit(rule.core, from: rule.anchor(start, near: after)) { date in
            guard rule.frequency == .weekly else { return walk.take(date) }
            return (0..<7).allSatisfy {
                walk.take(CivilDate(daysSince1970: date.daysSince1970 + $0))
            }
        }
        walk.end()
        if walk.found.isEmpty, after == nil, !walk.hasEnded { throw .empty(years: years) }
        return walk.found
    }

    /// Returns the rule completed from its start.
    private func completed(_ start: CivilDate) -> RecurrenceRule {
        var rule = self
        switch frequency {
        case .daily: break
        case .weekly: if days.isEmpty { rule.days = [NamedDay(weekday: start.dayOfWeek)] }
        case .monthly: if days.isEmpty, monthDays.isEmpty { rule.monthDays = [start.day] }
        case .yearly:
            guard days.isEmpty, monthDays.isEmpty, yearDays.isEmpty else { break }
            rule.monthDays = [start.day]
            if months.isEmpty { rule.months = [start.month] }
        }
        return rule
    }

    /// The part of the rule for libical, from the start of a period: complete, and without parts
    /// that only exclude days; for weeks, their first days.
    ///
    /// Version 3.0 searches endlessly for days that a rule includes and then excludes, such as
    /// `FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30`, and if BYSETPOS matches nothing. So those parts are
    /// applied to its results (``allows(_:)``), and the rest either has days without end, or fails.
    /// It also miscounts weeks that do not start on Monday if INTERVAL is above 1, and returns only
    /// days of January for `FREQ=YEARLY;BYMONTHDAY=5`.
    private var core: String {
        var parts = ["FREQ=\(frequency.rawValue)", "INTERVAL=\(interval)"]
        func add(_ name: String, _ values: [String]) {
            if !values.isEmpty { parts.append("\(name)=\(values.joined(separator: ","))") }
        }
        let dates = monthDays.map(\.description)
        switch frequency {
        case .daily, .weekly: break
        case .monthly where !dates.isEmpty: add("BYMONTHDAY", dates)
        case .monthly: add("BYDAY", days.map(\.text))
        case .yearly where !yearDays.isEmpty: add("BYYEARDAY", yearDays.map(\.description))
        case .yearly where !dates.isEmpty:
            add("BYMONTH", (months.isEmpty ? Array(1...12) : months).map(\.description))
            add("BYMONTHDAY", dates)
        case .yearly:
            add("BYMONTH", months.map(\.description))
            add("BYDAY", days.map(\.text))
        }
        return parts.joined(separator: ";")
    }

    /// Returns the start of a period from which all days after `after` are found: that of the
    /// start, or some intervals later if the rule has no COUNT.
    private func anchor(_ start: CivilDate, near after: CivilDate?) -> CivilDate {
        let target = count == nil ? max(start, after ?? start) : start
        switch frequency {
        case .daily:
            let days = target.daysSince1970 - start.daysSince1970
            return CivilDate(daysSince1970: start.daysSince1970 + days / interval * interval)
        case .weekly:
            let first = weekBegin(start)
            let weeks = (weekBegin(target) - first) / 7
            return CivilDate(daysSince1970: first + weeks / interval * interval * 7)
        case .monthly:
            let first = start.year * 12 + start.month - 1
            let months = target.year * 12 + target.month - 1 - first
            let month = first + months / interval * interval
            return CivilDate(year: month / 12, month: month % 12 + 1, day: 1)
        case .yearly:
            let years = (target.year - start.year) / interval * interval
            return CivilDate(year: start.year + years, month: 1, day: 1)
        }
    }

    private func weekBegin(_ date: CivilDate) -> Int {
        date.daysSince1970 - (date.dayOfWeek - weekStart + 7) % 7
    }

    /// Returns the number of a period, from which BYSETPOS selects days.
    func period(of date: CivilDate) -> Int {
        switch frequency {
        case .daily: date.daysSince1970
        case .weekly: weekBegin(date)
        case .monthly: date.year * 12 + date.month
        case .yearly: date.year
        }
    }

    /// Returns whether no part of the rule excludes a day.
    func allows(_ date: CivilDate) -> Bool {
        let month = CivilDate.days(inMonth: date.month, of: date.year)
        guard months.isEmpty || months.contains(date.month),
            monthDays.isEmpty || monthDays.contains(date.day)
                || monthDays.contains(date.day - month - 1)
        else { return false }
        guard !yearDays.isEmpty || !days.isEmpty else { return true }
        let year = CivilDate.isLeap(date.year) ? 366 : 365
        let first = CivilDate(year: date.year, month: 1, day: 1)
        let dayOfYear = date.daysSince1970 - first.daysSince1970 + 1
        guard
            yearDays.isEmpty || yearDays.contains(dayOfYear)
                || yearDays.contains(dayOfYear - year - 1)
        else { return false }
        // An ordinal is of the year only if the rule has no months.
        let isOfYear = frequency == .yearly && months.isEmpty
        let (place, length) = isOfYear ? (dayOfYear, year) : (date.day, month)
        return days.isEmpty
            || days.contains { day in
                day.weekday == date.dayOfWeek
                    && (day.ordinal == 0 || day.ordinal == (place - 1) / 7 + 1
                        || -day.ordinal == (length - place) / 7 + 1)
            }
    }
}

extension CivilDate {
    /// The day of the week, from 1 for Monday to 7 for Sunday.
    var dayOfWeek: Int { (weekday + 6) % 7 + 1 }
}

/// Collects the days of a rule from libical's days, period by period.
private struct RuleWalk {
    private let rule: RecurrenceRule
    private let start: CivilDate
    private let after: CivilDate?
    private let atMost: Int
    private let lastYear: Int
    private var period: (number: Int, days: [CivilDate])?
    private var counted = 0
    private(set) var found: [CivilDate] = []
    /// Whether COUNT or UNTIL ended it.
    private(set) var hasEnded = false

    init(
        _ rule: RecurrenceRule, from start: CivilDate, after: CivilDate?, atMost: Int,
        within years: Int
    ) {
        self.rule = rule
        self.start = start
        self.after = after
        self.atMost = atMost
        lastYear = max(start, after ?? start).year + years
    }

    private var isFull: Bool { hasEnded || found.count >= atMost }

    /// Adds the next day; returns false if no more are needed.
    mutating func take(_ date: CivilDate) -> Bool {
        guard !isFull else { return false }
        // This ends rules without a day too.
        guard date.year <= lastYear else { return false }
        if let until = rule.until, date > until, rule.positions.isEmpty {
            hasEnded = true
            return false
        }
        guard rule.allows(date) else {
            return rule.until.map { date.year <= $0.year + 1 } ?? true
        }
        guard !rule.positions.isEmpty else {
            count(date)
            return !isFull
        }
        let number = rule.period(of: date)
        if let period, period.number == number {
            self.period?.days.append(date)
        } else {
            choose()
            period = (number, [date])
        }
        return !isFull
    }

    /// Adds the rest of the last period.
    mutating func end() { choose() }

    /// Adds the days of a period at the positions of BYSETPOS.
    private mutating func choose() {
        guard let days = period?.days else { return }
        period = nil
        let places = rule.positions.map { $0 > 0 ? $0 - 1 : days.count + $0 }
        for place in Set(places).sorted() where days.indices.contains(place) { count(days[place]) }
    }

    private mutating func count(_ date: CivilDate) {
        guard date >= start, !isFull else { return }
        if let until = rule.until, date > until {
            hasEnded = true
            return
        }
        counted += 1
        if date > after ?? CivilDate(daysSince1970: start.daysSince1970 - 1) { found.append(date) }
        if counted == rule.count { hasEnded = true }
    }
}
