/// The declaration of a positional argument, independent of its type, for help and checks.
public struct ArgumentSpec: Equatable, Sendable {
    /// The name in capitals, as help shows it, such as `ID`.
    public var name: String
    /// The help text.
    public var help: String
    /// The minimum number of values.
    public var minimum: Int
    /// Whether it takes all remaining values.
    public var isVariadic: Bool
    /// The values that completion offers; empty for any.
    public var choices: [String] = []

    /// The form in a usage line: `ID`, `[ARGS]`, `ID...`, `[ID...]`.
    public var usage: String {
        let repeated = isVariadic ? name + "..." : name
        return minimum == 0 ? "[\(repeated)]" : repeated
    }
}

/// A positional argument of any type, as a command lists it.
public protocol DeclaredArgument: Sendable {
    /// The declaration, for help and checks.
    var spec: ArgumentSpec { get }
    /// Parses the given texts into a value that `Invocation` stores.
    func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable
}

/// A typed positional argument, declared once as a constant; `invocation[argument]` is its value.
public struct Argument<Value: Sendable>: DeclaredArgument {
    /// The declaration.
    public let spec: ArgumentSpec
    let read: @Sendable ([GivenText]) throws(CommandFailure) -> Value

    /// Parses the given texts into a value that `Invocation` stores.
    public func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable {
        Kept(value: try read(given.map(\.given)))
    }

    /// A required argument.
    public static func required(
        _ format: ValueFormat<Value>, help: String
    ) -> Argument<Value> {
        let spec = ArgumentSpec(
            name: format.placeholder, help: help, minimum: 1, isVariadic: false,
            choices: format.choices)
        return Argument(spec: spec) { given throws(CommandFailure) in
            guard let first = given.first else { throw .usage("\(spec.name) is missing") }
            return try format.value(of: first)
        }
    }

    /// An optional argument.
    public static func optional<Wrapped: Sendable>(
        _ format: ValueFormat<Wrapped>, help: String
    ) -> Argument<Wrapped?> where Value == Wrapped? {
        let spec = ArgumentSpec(
            name: format.placeholder, help: help, minimum: 0, isVariadic: false,
            choices: format.choices)
        return Argument(spec: spec) { given throws(CommandFailure) in
            guard let first = given.first else { return nil }
            return try format.value(of: first)
        }
    }

    /// A list of at least `minimum` values; it must be the last argument.
    public static func several<Element: Sendable>(
        _ format: ValueFormat<Element>, minimum: Int = 1, help: String
    ) -> Argument<[Element]> where Value == [Element] {
        let spec = ArgumentSpec(
            name: format.placeholder, help: help, minimum: minimum, isVariadic: true,
            choices: format.choices)
        return Argument(spec: spec) { given throws(CommandFailure) in
            var values: [Element] = []
            for one in given { values.append(try format.value(of: one)) }
            return values
        }
    }
}
