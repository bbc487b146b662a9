/// A text that must not reach a log: every way of printing it, `dump` included, shows `***`.
package struct Secret: Sendable, Equatable {
    /// The text itself, for the one place that needs it.
    package let revealed: String

    /// Hides a text.
    package init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `***`.
    package var description: String { "***" }
    /// Always `***`.
    package var debugDescription: String { "***" }
    /// Nothing to look into.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
