import FoundationEssentials

/// The header `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The maximum wait: a day, even if the provider asks for more.
    static let ceiling = Duration.seconds(86_400)

    /// Returns the wait, from seconds or an HTTP date; nil if the header is missing or neither.
    static func wait(_ header: String?, now: Date) -> Duration? {
        guard let text = header else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int(text).map { min(.seconds($0), ceiling) } ?? ceiling
        }
        guard let date = date(text) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return min(.seconds(max(0, seconds.rounded(.up))), ceiling)
    }

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, but not the obsolete forms.
    private static func date(_ text: String) -> Date? {
        let words = text.split { $0 == " " || $0 == ":" || $0 == "," }
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        guard words.count == 8, words[7] == "GMT",
            let month = months.firstIndex(of: String(words[2])),
            let day = Int(words[1]), let year = Int(words[3]), let hour = Int(words[4]),
            let minute = Int(words[5]), let second = Int(words[6]),
            (1...31).contains(day), (1970...9999).contains(year), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar.date(
            from: DateComponents(
                year: year, month: month + 1, day: day, hour: hour, minute: minute,
                second: second))
    }
}
