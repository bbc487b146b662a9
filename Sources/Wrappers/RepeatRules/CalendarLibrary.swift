import CErrandICal
import ErrandGregorian
import Synchronization

/// libical's iterator over the days of a rule, without exposing its pointers.
enum CalendarLibrary {
    /// Serializes calls: the library's error is per thread, but its setting to abort on errors is
    /// global, and it documents no further thread safety.
    private static let lock = Mutex(())

    /// Passes each day of a rule to `take` until it returns false or there are no more days.
    ///
    /// - Parameters:
    ///   - rule: a rule without an end. A rule without days ends after the library's range of
    ///     years, in a second or two.
    ///   - start: the start of a period.
    static func visit(
        _ rule: String, from start: CivilDate, until take: (CivilDate) -> Bool
    ) throws(RecurrenceRuleError) {
        let failure = lock.withLock { _ in
            icalerror_set_errors_are_fatal(0)
            return visitAlone(rule, from: start, take)
        }
        if let failure { throw failure }
    }

    private static func visitAlone(
        _ text: String, from start: CivilDate, _ take: (CivilDate) -> Bool
    ) -> RecurrenceRuleError? {
        unsafe icalerrno_return().pointee = ICAL_NO_ERROR
        var rule = unsafe text.withCString { unsafe icalrecurrencetype_from_string($0) }
        defer { unsafe icalrecurrencetype_clear(&rule) }
        guard unsafe rule.freq != ICAL_NO_RECURRENCE else {
            return .library("\(text) was refused")
        }
        // Use noon: for values without a time, version 3.0 searches endlessly for some rules.
        var first = unsafe icaltime_null_time()
        unsafe first.year = Int32(start.year)
        unsafe first.month = Int32(start.month)
        unsafe first.day = Int32(start.day)
        unsafe first.hour = 12
        guard let iterator = unsafe icalrecur_iterator_new(rule, first) else {
            // The library reports this for rules without a day as well.
            return unsafe icalerrno_return().pointee == ICAL_MALFORMEDDATA_ERROR
                ? nil : .library("no iterator for \(text)")
        }
        defer { unsafe icalrecur_iterator_free(iterator) }
        while true {
            let next = unsafe icalrecur_iterator_next(iterator)
            guard unsafe icaltime_is_null_time(next) == 0 else { return nil }
            let date = unsafe CivilDate(
                year: Int(next.year), month: Int(next.month), day: Int(next.day))
            guard take(date) else { return nil }
        }
    }
}
