/// The names and patterns of queues that a worker serves.
///
/// In a pattern, `*` stands for any characters: `tenant-*` serves `tenant-7`. A queue that several
/// match is served by its own name, else by the longest pattern, else by the first in order.
/// `errand.serving()` decides the same in SQL.
package struct QueuePattern: Sendable, Hashable {
    /// The name or pattern.
    package let text: String

    package init(_ text: String) { self.text = text }

    /// Whether the text contains `*`.
    package var isPattern: Bool { text.utf8.contains(UInt8(ascii: "*")) }

    /// Whether it is a valid name, or a pattern of one.
    package var isValid: Bool {
        JobKinds.isName(text.replacing("*", with: "x"), limit: 63)
    }

    /// Returns whether it serves a queue.
    package func matches(_ queue: String) -> Bool {
        guard isPattern else { return text == queue }
        let parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        var rest = queue.utf8[...]
        guard rest.starts(with: parts[0]) else { return false }
        rest = rest.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            // The first place leaves the most for the other parts.
            guard let place = Self.place(of: part, in: rest) else { return false }
            rest = rest[place...].dropFirst(part.count)
        }
        let end = parts[parts.count - 1]
        return rest.count >= end.count && rest.suffix(end.count).elementsEqual(end)
    }

    private static func place(
        of part: Substring.UTF8View, in text: Substring.UTF8View
    ) -> Substring.UTF8View.Index? {
        guard !part.isEmpty else { return text.startIndex }
        return text.indices.first { text[$0...].starts(with: part) }
    }

    /// Returns the name or pattern among `served` that serves a queue.
    package static func serving(_ queue: String, _ served: some Collection<String>) -> String? {
        served.contains(queue)
            ? queue
            : served.filter { QueuePattern($0).matches(queue) }
                .min { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    }
}
