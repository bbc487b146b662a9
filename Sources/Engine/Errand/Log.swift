import Synchronization

/// Writes what an operator should know, one line an event.
///
/// Values, not sentences with values in them, carry the data, so that a JSON sink can keep them
/// apart. Nothing here may be personal data: ids only.
public struct Log: Sendable {
    /// How much an event matters.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error

        /// The graver is the greater.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// One event.
    public struct Entry: Sendable {
        /// How much it matters.
        public var level: Level
        /// What happened.
        public var message: String
        /// What it happened to.
        public var fields: [(name: String, value: String)]
    }

    /// Events below this are dropped.
    public var minimum: Level
    private var fields: [(name: String, value: String)] = []
    private let write: @Sendable (Entry) -> Void

    /// Sends what is at least `minimum` to `write`, which is called from any thread.
    public init(minimum: Level = .info, write: @escaping @Sendable (Entry) -> Void) {
        self.minimum = minimum
        self.write = write
    }

    /// Says nothing.
    public static let silent = Log(minimum: .error) { _ in }

    /// The same log with fields that every event carries.
    public func with(_ name: String, _ value: some CustomStringConvertible) -> Log {
        var copy = self
        copy.fields.append((name, value.description))
        return copy
    }

    /// For those who look for a fault.
    public func debug(_ message: @autoclosure () -> String) { log(.debug, message()) }
    /// The ordinary course of things.
    public func info(_ message: @autoclosure () -> String) { log(.info, message()) }
    /// Something is amiss, and the work goes on.
    public func warning(_ message: @autoclosure () -> String) { log(.warning, message()) }
    /// Something that a person has to look at.
    public func error(_ message: @autoclosure () -> String) { log(.error, message()) }

    private func log(_ level: Level, _ message: @autoclosure () -> String) {
        guard level >= minimum else { return }
        write(Entry(level: level, message: message(), fields: fields))
    }
}

/// Says a thing again only when it has changed or a while has passed, so that an outage of an
/// hour is a few lines and not a million.
package final class Complaint: Sendable {
    private let last = Mutex<(text: String, at: ContinuousClock.Instant)?>(nil)

    /// Nothing was said yet.
    package init() {}

    /// Says it, unless the same was said in the last half a minute.
    package func warn(_ log: Log, _ text: String) {
        let isNews = last.withLock { last in
            let now = ContinuousClock.now
            guard last?.text != text || now - (last?.at ?? now) > .seconds(30) else { return false }
            last = (text, now)
            return true
        }
        if isNews { log.warning(text) }
    }

    /// Says that it is over, if anything was said before.
    package func resolved(_ log: Log, _ text: String) {
        let wasSaid = last.withLock { last in
            defer { last = nil }
            return last != nil
        }
        if wasSaid { log.info(text) }
    }
}
