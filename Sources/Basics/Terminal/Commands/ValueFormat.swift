/// The format of an option's or argument's value: parses its text and describes errors.
public struct ValueFormat<Value: Sendable>: Sendable {
    /// The placeholder of the value in help, such as `N` or `TIME`.
    public let placeholder: String
    /// Completes "expected …" in an error.
    public let expected: String
    /// The accepted words, if there are only a few; for help and completion.
    public let choices: [String]
    let read: @Sendable (String) -> Value?

    /// A custom format.
    ///
    /// - Parameters:
    ///   - placeholder: the placeholder of the value in help.
    ///   - expected: completes "expected …", such as "an RFC 3339 time".
    ///   - choices: the accepted words, if there are only a few.
    ///   - read: returns nil for a text that is not of this format.
    public init(
        _ placeholder: String, expected: String, choices: [String] = [],
        read: @escaping @Sendable (String) -> Value?
    ) {
        self.placeholder = placeholder
        self.expected = expected
        self.choices = choices
        self.read = read
    }

    func value(of given: GivenText) throws(CommandFailure) -> Value {
        guard let value = read(given.text) else {
            throw .usage(
                "\(given.described): expected \(expected)",
                hint: nearest(to: given.text, among: choices).map { "did you mean '\($0)'?" })
        }
        return value
    }
}

/// A text from the command line or the environment, with the name of its source.
struct GivenText: Equatable, Sendable {
    enum Source: Equatable, Sendable {
        case option(String)
        case environment(String)
        case argument(String)
    }

    var source: Source
    var text: String

    /// As the user wrote it, for an error: `--limit many`, `ERRAND_LIMIT=many`, `ID 'many'`; of a
    /// long text, the start.
    var described: String {
        let start = text.count > 200 ? text.prefix(100) + "…" : text[...]
        return switch source {
        case .option(let name): "--\(name) \(text.isEmpty ? "''" : start)"
        case .environment(let name): "\(name)=\(start)"
        case .argument(let name): "\(name) '\(start)'"
        }
    }
}

extension ValueFormat where Value == String {
    /// A non-empty text.
    public static func text(_ placeholder: String = "TEXT") -> ValueFormat {
        ValueFormat(placeholder, expected: "a non-empty text") { $0.isEmpty ? nil : $0 }
    }

    /// A text without control characters, of at most `longest` characters.
    public static func line(_ placeholder: String = "TEXT", upTo longest: Int) -> ValueFormat {
        ValueFormat(placeholder, expected: "1 to \(longest) characters in one line") { text in
            let characters = text.unicodeScalars
            let isLine = !characters.contains { $0.properties.generalCategory == .control }
            return (1...longest).contains(characters.count) && isLine ? text : nil
        }
    }
}

extension ValueFormat where Value == Int {
    /// A whole number; digits may be grouped with underscores, as in `1_000_000`.
    public static func integer(
        _ placeholder: String = "N", in range: ClosedRange<Int> = 0...Int.max
    ) -> ValueFormat {
        let bounds =
            switch (range.lowerBound, range.upperBound) {
            case (Int.min, Int.max): ""
            case (let lower, Int.max): " of at least \(lower)"
            case (let lower, let upper): " from \(lower) to \(upper)"
            }
        return ValueFormat(placeholder, expected: "a whole number" + bounds) { text in
            guard text.first != "_", text.last != "_", text.first != "+" else { return nil }
            guard let value = Int(text.filter { $0 != "_" }) else { return nil }
            return range.contains(value) ? value : nil
        }
    }
}

extension ValueFormat where Value == Double {
    /// A decimal number such as `0.25`.
    public static func number(
        _ placeholder: String = "X", in range: ClosedRange<Double>
    ) -> ValueFormat {
        ValueFormat(
            placeholder, expected: "a number from \(range.lowerBound) to \(range.upperBound)"
        ) { text in
            guard let value = Double(text), range.contains(value) else { return nil }
            return value
        }
    }
}

extension ValueFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the cases of an enum, by its raw value.
    public static func choice(
        of type: Value.Type = Value.self, _ placeholder: String? = nil
    ) -> ValueFormat {
        let words = Value.allCases.map(\.rawValue)
        let listed =
            words.count > 1
            ? words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
            : words.joined()
        return ValueFormat(
            placeholder ?? words.joined(separator: "|"), expected: listed, choices: words
        ) { Value(rawValue: $0) }
    }
}

extension ValueFormat where Value == Duration {
    /// A duration such as `250ms`, `30s`, `5m`, `2h`, `1d` or `1h30m`.
    public static func duration(
        _ placeholder: String = "TIME",
        in range: ClosedRange<Duration> = Duration.zero...Duration.longest
    ) -> ValueFormat {
        let lower = HumanFormat.notation(range.lowerBound)
        let bounds =
            switch (range.lowerBound, range.upperBound) {
            case (.zero, .longest): ""
            case (_, .longest): " of at least \(lower)"
            case (_, let upper): " from \(lower) to \(HumanFormat.notation(upper))"
            }
        return ValueFormat(
            placeholder, expected: "a duration\(bounds), such as 250ms, 30s, 5m, 2h or 1d"
        ) { text in
            guard let value = Duration(notation: text), range.contains(value) else { return nil }
            return value
        }
    }
}

extension Duration {
    /// The upper bound of a range without a limit.
    public static let longest = Duration.seconds(Int64.max)

    /// Parses `250ms`, `30s`, `5m`, `2h`, `1d`, and sums such as `1h30m`.
    ///
    /// A number without a unit is refused: it could mean seconds or minutes.
    public init?(notation: String) {
        var total: Int64 = 0
        var rest = Substring(notation)
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { !($0.isASCII && $0.isNumber) }
            rest = rest.dropFirst(unit.count)
            guard let count = Int64(digits), let scale = Self.milliseconds(in: unit) else {
                return nil
            }
            let (product, isTooLong) = count.multipliedReportingOverflow(by: scale)
            let (sum, isTooLarge) = total.addingReportingOverflow(product)
            guard !isTooLong, !isTooLarge else { return nil }
            total = sum
        }
        self = .milliseconds(total)
    }

    private static func milliseconds(in unit: Substring) -> Int64? {
        switch unit {
        case "ms": 1
        case "s": 1000
        case "m": 60 * 1000
        case "h": 3600 * 1000
        case "d": 24 * 3600 * 1000
        default: nil
        }
    }
}
