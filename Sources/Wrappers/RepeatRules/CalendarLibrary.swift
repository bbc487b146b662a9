import CErrandICal
import ErrandGregorian
import Synchronization

/// libical's iterator over the days of a rule; its pointers stop here.
enum CalendarLibrary {
    /// The library keeps its error in a place of each thread, but whether errors abort the process
    /// in one of all, and it promises no more: one at a time calls it.
    private static let lock = Mutex(())

    /// Gives each day of a rule to `take` until that returns false, or there is none any more.
    ///
    /// - Parameters:
    ///   - rule: names days for ever; one that names none ends after the years that the library
    ///     knows, in a second or two.
    ///   - start: the beginning of a period.
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
            return .library("\(text) is refused")
        }
        // Noon: of values that are dates, version 3.0 takes some rules for endless searches.
        var first = unsafe icaltime_null_time()
        unsafe first.year = Int32(start.year)
        unsafe first.month = Int32(start.month)
        unsafe first.day = Int32(start.day)
        unsafe first.hour = 12
        guard let iterator = unsafe icalrecur_iterator_new(rule, first) else {
            // What it says of rules without a day as well.
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
