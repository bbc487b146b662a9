import Errand
import ErrandPostgres

/// Follows jobs as they finish, without an index on time: reads the ends of the partitions.
package struct FinishedJobTail: Sendable {
    private struct Mark: Hashable {
        var id: Int64
        var at: Instant?
    }

    /// The maximum number of blocks that PostgreSQL adds to a partition before it fills them.
    private static let slack: Int64 = 512
    /// The maximum duration of a transaction that finishes jobs.
    private static let longest = Duration.seconds(60)

    private let inspector: Inspector
    private let queue: String?
    private let kind: String?
    /// The size of each partition at the last call.
    private var blocks: [String: Int64] = [:]
    private var seen: Set<Mark> = []
    private var readAt: Instant?

    /// Creates a tail, optionally of one queue or one kind.
    package init(_ inspector: Inspector, queue: String?, kind: String?) {
        self.inspector = inspector
        self.queue = queue
        self.kind = kind
    }

    /// The jobs finished since the last call, the oldest first; none at the first call.
    package mutating func next() async throws -> [JobRecord] {
        let rows = try await inspector.session.query(Statements.historyParts)
        var parts: [(name: String, block: Int64)] = []
        var sizes: [String: Int64] = [:]
        var now = readAt
        for row in rows {
            let (name, size) = (try row.text("name"), try row.int64("blocks"))
            now = try row.timestamp("now")
            sizes[name] = size
            // Reads a new partition from its start, unless this is the first call.
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
