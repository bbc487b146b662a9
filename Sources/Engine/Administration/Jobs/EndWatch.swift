import Errand
import ErrandPostgres

/// Sees jobs as they end, without an index on when: it reads the ends of the history's parts.
package struct EndWatch: Sendable {
    private struct Mark: Hashable {
        var id: Int64
        var at: Instant?
    }

    /// A part is extended by so many blocks at most before they are filled.
    private static let slack: Int64 = 512
    /// A transaction that ends jobs takes no longer.
    private static let longest = Duration.seconds(60)

    private let inspector: Inspector
    private let queue: String?
    private let kind: String?
    /// The size of each part when it was last looked at.
    private var blocks: [String: Int64] = [:]
    private var seen: Set<Mark> = []
    private var readAt: Instant?

    /// Only jobs of the queue and the kind, unless they are nil.
    package init(_ inspector: Inspector, queue: String?, kind: String?) {
        self.inspector = inspector
        self.queue = queue
        self.kind = kind
    }

    /// Jobs that have ended since the last call, oldest first; the first call has none.
    package mutating func next() async throws -> [JobRecord] {
        let rows = try await inspector.session.query(Statements.historyParts)
        var parts: [(name: String, block: Int64)] = []
        var sizes: [String: Int64] = [:]
        var now = readAt
        for row in rows {
            let (name, size) = (try row.text("name"), try row.int64("blocks"))
            now = try row.timestamp("now")
            sizes[name] = size
            // One that is new to us is read whole, unless this is the first look.
            let known = readAt == nil ? size : blocks[name] ?? 0
            if size > 0 { parts.append((name, max(0, min(known, size) - Self.slack))) }
        }
        blocks = sizes
        let isFirst = readAt == nil
        let since = (readAt ?? now ?? .now()).adding(.zero - Self.longest)
        readAt = now
        guard !parts.isEmpty else {
            seen = []
            return []
        }
        let jobs = try await inspector.session.query(
            Statements.newlyEnded(parts),
            [.timestamp(since), .optional(queue), .optional(kind)]
        ).map { try JobRecord($0, reveals: inspector.reveals) }
        let before = seen
        seen = Set(jobs.map { Mark(id: $0.id, at: $0.finishedAt) })
        guard !isFirst else { return [] }
        return jobs.filter { !before.contains(Mark(id: $0.id, at: $0.finishedAt)) }
    }
}
