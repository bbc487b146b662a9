import ErrandGregorian
import ErrandPostgres
import ErrandRecurrence

/// Renders a template with facts.
struct TemplateWriter {
    let facts: [NoticeFact]
    let place: TemplatePlace
    let language: NoticeLanguage
    /// The reader's time zone; nil if unknown.
    let zone: Zone?

    /// Returns the text of some parts.
    func text(_ parts: [TemplatePart]) -> String {
        var out = ""
        write(parts, to: &out)
        return out
    }

    private func write(_ parts: [TemplatePart], to out: inout String) {
        for part in parts { write(part, to: &out) }
    }

    private func write(_ part: TemplatePart, to out: inout String) {
        switch part {
        case .literal(let text): out += text
        case .fact(let number): write(facts[number], to: &out)
        case .block(let number, let indent):
            guard case .list(let items) = facts[number] else { return }
            out += items.map(words).joined(separator: "\n" + indent)
        case .number(let number):
            guard case .count(let count) = facts[number] else { return }
            out += language.text(count: count)
        case .plural(let number, let forms):
            guard case .count(let count) = facts[number] else { return }
            write(forms[language.form(for: count)], to: &out)
        case .optional(let number, let parts):
            if !facts[number].isEmpty { write(parts, to: &out) }
        }
    }

    private func write(_ fact: NoticeFact, to out: inout String) {
        switch fact {
        case .text(let text):
            let clean = place == .line ? PlainText.line(text) : PlainText.lines(text)
            out += place == .html ? PlainText.escaped(clean) : clean
        case .link(let link): out += place == .html ? PlainText.escaped(link) : link
        case .body(let body): out += body
        case .list(let items):
            guard place == .html else {
                out += language.text(list: items.map(words))
                return
            }
            for item in items { out += "<li>\(PlainText.escaped(words(item)))</li>" }
        case .count(let count): out += language.text(count: count)
        case .metres(let metres): out += language.text(metres: metres)
        case .amount(let amount): out += language.text(amount: amount)
        case .amounts(let amounts):
            out += language.text(list: amounts.map { language.text(amount: $0) })
        case .day(let day): out += language.text(day: day)
        case .time(let instant):
            let second = Int(instant.microseconds).dividedDown(by: 1_000_000) + Self.year2000
            let local = LocalTime(second, in: zone ?? .utc)
            out += language.text(
                day: local.date, secondOfDay: local.secondOfDay,
                isUniversal: zone == nil || local.isUniversal)
        }
    }

    private func words(_ item: NoticeItem) -> String {
        switch item {
        case .text(let text): text
        case .debt(let amount, let name): language.text(debt: amount, to: name)
        }
    }

    /// The seconds from 1970, the epoch of zones, to 2000, the epoch of PostgreSQL.
    private static let year2000 = 10_957 * 86_400
}
