/// A text that must not reach a log: printing it in any way, including `dump`, shows `***`.
package struct Secret: Sendable, Equatable {
    /// The text itself.
    package let revealed: String

    /// Hides a text.
    package init(_ text: String) { revealed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `***`.
    package var description: String { "***" }
    /// Always `***`.
    package var debugDescription: String { "***" }
    /// Hides the text.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
