/// What a command does to what others see; each command declares it.
public enum Effect: String, CaseIterable, Sendable {
    /// It only looks, and ends; `--watch` repeats it.
    case looks
    /// It only looks, and goes on until something has happened.
    case waits
    /// It changes nothing but files of this user.
    case configures
    /// It changes something that others see.
    case changes
    /// It runs until told to stop, and changes things all the while.
    case starts

    /// Whether `--read-only` refuses it, and a production context asks before it.
    public var isChange: Bool { self == .changes || self == .starts }
}
