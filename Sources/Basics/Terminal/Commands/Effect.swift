/// The effect of a command on shared state; each command declares it.
public enum Effect: String, CaseIterable, Sendable {
    /// Reads and ends; `--watch` repeats it.
    case read
    /// Reads until an event occurs or it is interrupted.
    case follow
    /// Changes only files of this user.
    case configure
    /// Changes shared state.
    case write
    /// Runs until it is stopped, and changes shared state meanwhile.
    case run

    /// Whether `--read-only` refuses it and a production context requires confirmation.
    public var isChange: Bool { self == .write || self == .run }
}
