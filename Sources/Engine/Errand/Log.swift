import Synchronization

/// A log for operators: one line for each event.
///
/// Data belongs in the fields of an event rather than in its message, so that a JSON sink can keep
/// it apart. Log ids, never personal data.
public struct Log: Sendable {
    /// The severity of an event.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error

        /// Orders by severity: `.error` is the largest.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// One event.
    public struct Entry: Sendable {
        /// The severity.
        public var level: Level
        /// The message, without variable data.
        public var message: String
        /// The data of the event, by name.
        public var fields: [(name: String, value: String)]
    }

    /// The lowest level that is written.
    public var minimum: Level
    private var fields: [(name: String, value: String)] = []
    private let write: @Sendable (Entry) -> Void

    /// Creates a log that passes events of at least `minimum` to `write`, from any thread.
    public init(minimum: Level = .info, write: @escaping @Sendable (Entry) -> Void) {
        self.minimum = minimum
        self.write = write
    }

    /// A log that writes nothing.
    public static let silent = Log(minimum: .error) { _ in }

    /// Returns the same log with a field that every event carries.
    public func with(_ name: String, _ value: some CustomStringConvertible) -> Log {
        var copy = self
        copy.fields.append((name, value.description))
        return copy
    }

    /// Returns the same log for the events of one attempt.
    func ofJob(_ id: Int64, kind: String, queue: String, attempt: Int) -> Log {
        with("job", id).with("kind", kind).with("queue", queue).with("attempt", attempt)
    }

    /// Writes a diagnostic detail.
    public func debug(_ message: @autoclosure () -> String) { log(.debug, message()) }
    /// Writes an event of normal operation.
    public func info(_ message: @autoclosure () -> String) { log(.info, message()) }
    /// Writes a problem despite which the work continues.
    public func warning(_ message: @autoclosure () -> String) { log(.warning, message()) }
    /// Writes an error that needs an operator's attention.
    public func error(_ message: @autoclosure () -> String) { log(.error, message()) }

    private func log(_ level: Level, _ message: @autoclosure () -> String) {
        guard level >= minimum else { return }
        write(Entry(level: level, message: message(), fields: fields))
    }
}

/// Limits repeated warnings: a warning is repeated only if its text changed or half a minute has
/// passed, so that a long outage takes few lines.
package final class LogThrottle: Sendable {
    private let last = Mutex<(text: String, at: ContinuousClock.Instant)?>(nil)

    package init() {}

    /// Logs a warning unless the same text was logged in the last half minute.
    package func warn(_ log: Log, _ text: String) {
        let isNews = last.withLock { last in
            let now = ContinuousClock.now
            guard last?.text != text || now - (last?.at ?? now) > .seconds(30) else { return false }
            last = (text, now)
            return true
        }
        if isNews { log.warning(text) }
    }

    /// Logs the end of the problem if a warning was logged before.
    package func resolved(_ log: Log, _ text: String) {
        let wasSaid = last.withLock { last in
            defer { last = nil }
            return last != nil
        }
        if wasSaid { log.info(text) }
    }
}
