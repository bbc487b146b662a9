/// The declaration of an option, independent of its type, for help, completion and the scanner.
public struct OptionSpec: Equatable, Sendable {
    /// The long name, without dashes.
    public var name: String
    /// The short name: a letter, if it has one.
    public var short: Character?
    /// The placeholder of the value in help; nil for a flag, which takes none.
    public var placeholder: String?
    /// The values that completion offers; empty for any.
    public var choices: [String] = []
    /// Whether it may be given several times.
    public var isRepeatable = false
    /// Whether it must be given.
    public var isRequired = false
    /// The help text.
    public var help: String
    /// The default value, as help shows it.
    public var defaultText: String?
    /// The environment variable that provides the default; an empty one counts as unset.
    public var environment: String?
}

/// An option of any type, as a command lists it.
public protocol DeclaredOption: Sendable {
    /// The declaration, for help and the scanner.
    var spec: OptionSpec { get }
    /// Parses the given texts into a value that `Invocation` stores.
    func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable
}

/// A text as given; opaque outside this module.
public struct KeptText: Sendable {
    let given: GivenText
}

/// A value with its static type, for a cast from `any Sendable`.
struct Kept<Value: Sendable>: Sendable {
    let value: Value
}

/// A typed option, declared once as a constant; `invocation[option]` gives its value.
public struct Option<Value: Sendable>: DeclaredOption {
    /// The declaration.
    public var spec: OptionSpec
    let read: @Sendable ([GivenText]) throws(CommandFailure) -> Value

    /// Parses the given texts into a value that `Invocation` stores.
    public func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable {
        Kept(value: try read(given.map(\.given)))
    }
}

extension Option where Value == Bool {
    /// A flag without a value: true if given.
    public static func flag(
        _ name: String, short: Character? = nil, environment: String? = nil, help: String
    ) -> Option<Bool> {
        let spec = OptionSpec(name: name, short: short, help: help, environment: environment)
        let words = ValueFormat<Bool>("1|0", expected: "1, 0, true or false") { text in
            switch text {
            case "1", "true", "yes": true
            case "0", "false", "no": false
            default: nil
            }
        }
        return Option(spec: spec) { given throws(CommandFailure) in
            guard let first = given.first else { return false }
            guard case .environment = first.source else { return true }
            return try words.value(of: first)
        }
    }

    /// The flag that skips the confirmation of a change.
    public static var yes: Option<Bool> {
        flag("yes", short: "y", help: "Skip the confirmation of changes")
    }
}

extension Option {
    /// An option with one value and a default.
    ///
    /// The name is the long one, without dashes. Help shows the default as `shown`, or else as
    /// the value's description.
    public static func value(
        _ name: String, short: Character? = nil, _ format: ValueFormat<Value>,
        default fallback: Value, shown: String? = nil, environment: String? = nil, help: String
    ) -> Option<Value> {
        let spec = OptionSpec(
            name: name, short: short, placeholder: format.placeholder, choices: format.choices,
            help: help, defaultText: shown ?? "\(fallback)", environment: environment)
        return Option(spec: spec) { given throws(CommandFailure) in
            guard let first = given.first else { return fallback }
            return try format.value(of: first)
        }
    }

    /// An option with one value, nil if it is not given.
    public static func value<Wrapped: Sendable>(
        _ name: String, short: Character? = nil, _ format: ValueFormat<Wrapped>,
        environment: String? = nil, help: String
    ) -> Option<Wrapped?> where Value == Wrapped? {
        let spec = OptionSpec(
            name: name, short: short, placeholder: format.placeholder, choices: format.choices,
            help: help, environment: environment)
        return Option(spec: spec) { given throws(CommandFailure) in
            guard let first = given.first else { return nil }
            return try format.value(of: first)
        }
    }

    /// An option that may be given several times.
    ///
    /// The separator also splits one value, as in `--queue mail,push`; it is nil if values may
    /// contain any character.
    public static func list<Element: Sendable>(
        _ name: String, short: Character? = nil, _ format: ValueFormat<Element>,
        separator: Character? = ",", environment: String? = nil, help: String
    ) -> Option<[Element]> where Value == [Element] {
        let spec = OptionSpec(
            name: name, short: short, placeholder: format.placeholder, choices: format.choices,
            isRepeatable: true, help: help, environment: environment)
        return Option(spec: spec) { given throws(CommandFailure) in
            var values: [Element] = []
            for one in given {
                for text in parts(of: one.text, at: separator) {
                    values.append(
                        try format.value(of: GivenText(source: one.source, text: text)))
                }
            }
            return values
        }
    }

    private static func parts(of text: String, at separator: Character?) -> [String] {
        guard let separator else { return [text] }
        return text.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }

    /// The same option, which must then be given (or its environment variable set).
    public func required<Wrapped: Sendable>() -> Option<Wrapped> where Value == Wrapped? {
        var spec = spec
        spec.isRequired = true
        let read = read
        return Option<Wrapped>(spec: spec) { [spec] given throws(CommandFailure) in
            guard let value = try read(given) else {
                let orVariable = spec.environment.map { " (or \($0) in the environment)" } ?? ""
                throw .usage("--\(spec.name) \(spec.placeholder ?? "") is required\(orVariable)")
            }
            return value
        }
    }
}

extension Option where Value == Int {
    /// A whole number within a range.
    public static func integer(
        _ name: String, short: Character? = nil, default fallback: Int,
        range: ClosedRange<Int> = 0...Int.max, placeholder: String = "N",
        environment: String? = nil, help: String
    ) -> Option<Int> {
        value(
            name, short: short, .integer(placeholder, in: range), default: fallback,
            environment: environment, help: help)
    }
}

extension Option where Value == Int? {
    /// A whole number within a range, nil if it is not given.
    public static func integer(
        _ name: String, short: Character? = nil, range: ClosedRange<Int> = 0...Int.max,
        placeholder: String = "N", environment: String? = nil, help: String
    ) -> Option<Int?> {
        value(
            name, short: short, .integer(placeholder, in: range), environment: environment,
            help: help)
    }
}

extension Option where Value == String {
    /// A text with a default.
    public static func text(
        _ name: String, short: Character? = nil, default fallback: String,
        placeholder: String = "TEXT", environment: String? = nil, help: String
    ) -> Option<String> {
        value(
            name, short: short, .text(placeholder), default: fallback, environment: environment,
            help: help)
    }
}

extension Option where Value == String? {
    /// A text, nil if it is not given.
    public static func text(
        _ name: String, short: Character? = nil, placeholder: String = "TEXT",
        environment: String? = nil, help: String
    ) -> Option<String?> {
        value(name, short: short, .text(placeholder), environment: environment, help: help)
    }
}

extension Option where Value == [String] {
    /// Texts, given several times or separated by commas.
    public static func texts(
        _ name: String, short: Character? = nil, placeholder: String = "TEXT",
        separator: Character? = ",", environment: String? = nil, help: String
    ) -> Option<[String]> {
        list(
            name, short: short, .text(placeholder), separator: separator, environment: environment,
            help: help)
    }
}

extension Option where Value == Duration {
    /// A duration such as `30s`, with a default.
    public static func duration(
        _ name: String, short: Character? = nil, default fallback: Duration,
        range: ClosedRange<Duration> = Duration.zero...Duration.longest,
        placeholder: String = "TIME",
        environment: String? = nil, help: String
    ) -> Option<Duration> {
        value(
            name, short: short, .duration(placeholder, in: range), default: fallback,
            shown: HumanFormat.notation(fallback), environment: environment, help: help)
    }
}

extension Option where Value == Duration? {
    /// A duration such as `30s`, nil if it is not given.
    public static func duration(
        _ name: String, short: Character? = nil,
        range: ClosedRange<Duration> = Duration.zero...Duration.longest,
        placeholder: String = "TIME",
        environment: String? = nil, help: String
    ) -> Option<Duration?> {
        value(
            name, short: short, .duration(placeholder, in: range), environment: environment,
            help: help)
    }
}

extension Option where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the cases of an enum, with a default.
    public static func choice(
        _ name: String, short: Character? = nil, default fallback: Value,
        placeholder: String? = nil, environment: String? = nil, help: String
    ) -> Option<Value> {
        value(
            name, short: short, .choice(of: Value.self, placeholder), default: fallback,
            shown: fallback.rawValue, environment: environment, help: help)
    }
}
