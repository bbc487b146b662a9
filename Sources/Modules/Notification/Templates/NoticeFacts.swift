import ErrandJSONText
import FoundationEssentials
import ErrandGregorian
import Errand
import ErrandPostgres

/// A fact of a notice, read from its data.
enum NoticeFact: Sendable, Equatable {
    case text(String)
    case count(Int)
    case metres(Double)
    case amount(NoticeAmount)
    case amounts([NoticeAmount])
    case day(CivilDate)
    case time(Instant)
    case list([NoticeItem])
    /// Rendered HTML or text.
    case body(String)
    /// Empty for none.
    case link(String)

    /// Whether `{?name …}` omits its text.
    var isEmpty: Bool {
        switch self {
        case .text(let text), .link(let text), .body(let text): text.isEmpty
        case .count(let count): count == 0
        case .list(let items): items.isEmpty
        case .metres, .amount, .amounts, .day, .time: false
        }
    }
}

/// One item of a list.
enum NoticeItem: Sendable, Equatable {
    case text(String)
    /// An amount, and the name of the creditor.
    case debt(NoticeAmount, to: String)
}

/// Reads the facts of a notice from JSON, with the types that its kind declares.
///
/// Uses the scanner, which validates the text and finds members without building values. A decoder
/// would take several times as long as rendering the notice.
enum NoticeFacts {
    /// Returns the facts in the order of `declared`; ignores undeclared members.
    static func read(
        _ data: [UInt8], _ declared: TemplateFacts
    ) throws(NoticeDataError) -> [NoticeFact] {
        let members: [JSONScanner.Member]
        do throws(JSONSyntaxError) { members = try JSONScanner.members(of: data[...]) } catch {
            throw .malformed(kind: declared.owner, reason: "\(error)")
        }
        var facts: [NoticeFact] = []
        facts.reserveCapacity(declared.names.count)
        for (name, type) in zip(declared.names, declared.types) {
            // The last of equal names counts, as in jsonb.
            guard let value = members.last(where: { $0.name == name })?.value else {
                throw .missing(kind: declared.owner, field: name)
            }
            guard case .field(let field) = type, let fact = fact(field, value) else {
                throw .mistyped(
                    kind: declared.owner, field: name, expected: Self.expectation(type))
            }
            facts.append(fact)
        }
        return facts
    }

    private static func expectation(_ type: TemplateFact) -> String {
        switch type {
        case .field(.text), .body, .link: "a text"
        case .field(.count): "a whole number from 0"
        case .field(.metres): "metres, a number from 0 to 100000000"
        case .field(.amount):
            "an amount in minor units, such as {\"minor\":1230,\"currency\":\"CAD\"}"
        case .field(.day): "a day, such as \"2026-11-20\""
        case .field(.link): "a link, such as \"https://host/path\""
        case .field(.time): "a time, such as \"2026-11-20T17:30:00Z\""
        case .field(.amounts): "a list of amounts in minor units"
        case .field(.list):
            "a list of texts, or of amounts such as {\"minor\":1230,\"currency\":\"CAD\",\"to\":"
                + "\"Ann\"}"
        }
    }

    private static func fact(
        _ field: NoticeKind.Field, _ value: ArraySlice<UInt8>
    ) -> NoticeFact? {
        switch field {
        case .text:
            JSONScanner.text(value).map { .text(PlainText.cut($0, to: PlainText.factLimit)) }
        case .count: whole(value).flatMap { $0 < 0 ? nil : .count(Int($0)) }
        case .metres: metres(value).map { .metres($0) }
        case .amount: amount(value).map { .amount($0) }
        case .amounts:
            elements(of: value).flatMap { elements in
                let amounts = elements.compactMap(amount)
                return amounts.count == elements.count && !amounts.isEmpty ? .amounts(amounts) : nil
            }
        case .day: JSONScanner.text(value).flatMap(day).map { .day($0) }
        case .time: JSONScanner.text(value).flatMap(time).map { .time($0) }
        case .list: list(value).map { .list($0) }
        case .link: JSONScanner.text(value).flatMap { isLink($0) ? .link($0) : nil }
        }
    }

    private static let linkLimit = 2_000

    /// Returns whether a text is a URL that is safe in a mail; the database checks the same.
    private static func isLink(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text.utf8[..<colon]
        let isName =
            scheme.first.map { (0x61...0x7A).contains($0) } ?? false
            && scheme.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0)
                    || [0x2B, 0x2D, 0x2E].contains($0)
            }
        return isName && !["javascript", "data", "vbscript"].contains(String(text[..<colon]))
            && text.utf8[colon...].dropFirst().allSatisfy { (0x21...0x7E).contains($0) }
            && text.utf8.count > scheme.count + 1 && text.utf8.count <= linkLimit
    }

    private static func whole(_ value: ArraySlice<UInt8>) -> Int64? {
        Int64(String(decoding: value, as: UTF8.self))
    }

    private static func metres(_ value: ArraySlice<UInt8>) -> Double? {
        guard let metres = Double(String(decoding: value, as: UTF8.self)) else { return nil }
        return (0...100_000_000).contains(metres) ? metres : nil
    }

    private static func amount(_ value: ArraySlice<UInt8>) -> NoticeAmount? {
        guard let members = try? JSONScanner.members(of: value) else { return nil }
        guard let minor = members.last(where: { $0.name == "minor" }).flatMap({ whole($0.value) }),
            let currency = members.last(where: { $0.name == "currency" })
                .flatMap({ JSONScanner.text($0.value) }),
            currency.utf8.count == 3, currency.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
        else { return nil }
        return NoticeAmount(minor: minor, currency: currency)
    }

    private static func day(_ text: String) -> CivilDate? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.map(\.utf8.count) == [4, 2, 2],
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2D }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]),
            (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day)
        else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    private static func time(_ text: String) -> Instant? {
        guard let instant = Instant(text), instant != .infinity, instant != .negativeInfinity
        else { return nil }
        return instant
    }

    /// Returns the items of an array; nil for another value or an invalid item.
    private static func list(_ value: ArraySlice<UInt8>) -> [NoticeItem]? {
        guard let elements = elements(of: value) else { return nil }
        var items: [NoticeItem] = []
        for element in elements {
            guard let item = item(element) else { return nil }
            items.append(item)
        }
        guard items.count > PlainText.mostItems else { return items }
        return items.prefix(PlainText.mostItems - 1) + [.text("…")]
    }

    private static func item(_ value: ArraySlice<UInt8>) -> NoticeItem? {
        func cut(_ text: String) -> String {
            PlainText.cut(PlainText.line(text), to: PlainText.itemLimit)
        }
        if let text = JSONScanner.text(value) { return .text(cut(text)) }
        guard let amount = amount(value),
            let to = (try? JSONScanner.members(of: value))?.last(where: { $0.name == "to" })
                .flatMap({ JSONScanner.text($0.value) })
        else { return nil }
        return .debt(amount, to: cut(to))
    }

    /// Returns the elements of an array; nil for another value.
    private static func elements(of value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        var cursor = JSONCursor(value)
        var elements: [ArraySlice<UInt8>] = []
        var isFirst = true
        do throws(JSONSyntaxError) {
            while try cursor.nextElement(&isFirst) {
                elements.append(value[try cursor.skipValue()])
            }
        } catch { return nil }
        return elements
    }

    /// Returns a time in the data of a notice; nil if the member is missing or not a time.
    static func time(_ name: String, in data: [UInt8]) -> Instant? {
        (try? JSONScanner.members(of: data[...]))?.last { $0.name == name }
            .flatMap { JSONScanner.text($0.value) }.flatMap(time)
    }
}
