/// What help and the checks need to know of a positional argument, whatever its type.
public struct ArgumentSpec: Equatable, Sendable {
    /// In capitals, as help shows it, such as `ID`.
    public var name: String
    /// What help says of it.
    public var help: String
    /// How many must stand there.
    public var minimum: Int
    /// Whether it takes all that follows.
    public var isVariadic: Bool
    /// The values that completion offers; nil for any.
    public var choices: [String] = []

    /// As a usage line shows it: `ID`, `[ARGS]`, `ID...`, `[ID...]`.
    public var usage: String {
        let repeated = isVariadic ? name + "..." : name
        return minimum == 0 ? "[\(repeated)]" : repeated
    }
}

/// A positional argument of any type, as a command lists it.
public protocol DeclaredArgument: Sendable {
    /// What help and the checks need to know.
    var spec: ArgumentSpec { get }
    /// Turns what was given into a value that `Invocation` keeps.
    func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable
}

/// A typed positional argument, declared once as a constant; `invocation[argument]` is its value.
public struct Argument<Value: Sendable>: DeclaredArgument {
    /// How it is declared.
    public let spec: ArgumentSpec
    let read: @Sendable ([GivenText]) throws(CommandFailure) -> Value

    /// Turns what was given into a value that `Invocation` keeps.
    public func kept(_ given: [KeptText]) throws(CommandFailure) -> any Sendable {
        Kept(value: try read(given.map(\.given)))
    }

    /// An argument that must be given.
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

    /// An argument that may be left out.
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

    /// As many as are given, from `minimum` on; stands last.
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
