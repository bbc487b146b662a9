package import ErrandPostgres

/// A queue, a kind and a version of its arguments: the unit of staging and popping.
///
/// The same workers can run all jobs of a lane. The version is part of it because a worker that has
/// an older version of the kind cannot run the newer one.
package struct Lane: Hashable, Sendable {
    package var queue: String
    package var kind: String
    package var version: Int

    package init(queue: String, kind: String, version: Int) {
        self.queue = queue
        self.kind = kind
        self.version = version
    }

    /// The name in notifications and in Redis, separated by tabs, which names cannot contain.
    package var name: String { "\(queue)\t\(kind)\t\(version)" }

    /// The suffix of the name for a delayed job.
    package static let later = "\tlater"

    /// Returns a request to the feeder for a job that was due at this time and waits again, perhaps
    /// before the feeder's position.
    ///
    /// The time is rounded to the second, so that equal requests are merged.
    package func since(_ time: Instant) -> String {
        // A job's row may have any time.
        let (start, isOver) = (time.microseconds / 1_000_000 - 1)
            .multipliedReportingOverflow(by: 1_000_000)
        return "\(name)\tsince\t\(isOver ? Int64.min : start)"
    }

    /// Returns the lane and time of such a request.
    ///
    /// Any login can send one. PostgreSQL refuses a time before its first one, and with it the
    /// feeder's statement: such a time counts as minus infinity.
    package static func since(_ request: some StringProtocol) -> (lane: Lane, time: Instant)? {
        let parts = request.split(separator: "\t")
        guard parts.count == 5, parts[3] == "since", let microseconds = Int64(parts[4]),
            let lane = Lane(name: parts[..<3].joined(separator: "\t"))
        else { return nil }
        let time = Instant(microseconds: microseconds)
        return (lane, time < firstTime ? .negativeInfinity : time)
    }

    /// The first day that PostgreSQL's `timestamptz` has, in the year 4714 BC.
    private static let firstTime = Instant(microseconds: -211_813_488_000_000_000)

    /// Returns the lane and job of a notice that names one: id, priority and due time.
    package static func job(_ request: some StringProtocol) -> (lane: Lane, job: Staged)? {
        let parts = request.split(separator: "\t")
        guard parts.count == 7, parts[3] == "job", let id = Int64(parts[4]),
            let priority = Int16(parts[5]), (0...3).contains(priority),
            let microseconds = Int64(parts[6]),
            let lane = Lane(name: parts[..<3].joined(separator: "\t"))
        else { return nil }
        return (
            lane,
            Staged(id: id, priority: priority, runAt: Instant(microseconds: microseconds))
        )
    }

    /// Reads a name; nil for another text: that of a notification or a key of Redis may be
    /// anybody's.
    package init?(name: some StringProtocol) {
        guard name.utf8.count <= 200 else { return nil }
        let parts = name.split(separator: "\t")
        guard parts.count == 3, let version = Int16(parts[2]) else { return nil }
        let (queue, kind) = (String(parts[0]), String(parts[1]))
        guard JobKinds.isName(queue, limit: 63), JobKinds.isName(kind, limit: 100) else {
            return nil
        }
        self.init(queue: queue, kind: kind, version: Int(version))
    }

    /// The kind and version in a worker's list of capabilities: `kind@version`.
    package var capability: String { "\(kind)@\(version)" }

    package init?(queue: String, capability: String) {
        guard let at = capability.lastIndex(of: "@"),
            let version = Int16(capability[capability.index(after: at)...])
        else { return nil }
        self.init(queue: queue, kind: String(capability[..<at]), version: Int(version))
    }
}

extension Sequence<Lane> {
    /// The arrays of their queues, kinds and versions, for `unnest` in a statement.
    package var columns: [Parameter] {
        [
            .textArray(map(\.queue)), .textArray(map(\.kind)),
            .int16Array(map { Int16($0.version) }),
        ]
    }
}

extension Lane {
    /// Reads a lane from a row `queue, kind, args_version`.
    package init(_ row: Row) throws {
        self.init(
            queue: try row.text(0), kind: try row.text(1), version: Int(try row.int16(2)))
    }

    /// Reads a lane from a row `id, queue, kind, args_version, priority, run_at` of a statement
    /// that requeues jobs.
    package init(_ rows: Rows, _ row: Int) throws {
        self.init(
            queue: try rows.text(row, 1), kind: try rows.text(row, 2),
            version: Int(try rows.int16(row, 3)))
    }
}

extension Staged {
    /// Reads a job from the same row.
    package init(_ rows: Rows, _ row: Int) throws {
        self.init(
            id: try rows.int64(row, 0), priority: try rows.int16(row, 4),
            runAt: try rows.timestamp(row, 5))
    }
}

/// A due job on its way into the ready window.
package struct Staged: Sendable, Equatable {
    package var id: Int64
    package var priority: Int16
    package var runAt: Instant

    /// The score in the window: the priority, then the due time in microseconds since 2020.
    ///
    /// A double holds 53 bits: 2 for the priority and 50 for the time (until the year 2055).
    package var score: Int64 {
        let time = min(max(runAt.microseconds, Self.epoch) - Self.epoch, Self.band - 1)
        return Int64(priority) * Self.band + time
    }

    package static let band: Int64 = 1 << 50
    /// 2020-01-01 in PostgreSQL's microseconds since 2000-01-01.
    private static let epoch: Int64 = 7_305 * 86_400 * 1_000_000

    package static func == (left: Staged, right: Staged) -> Bool { left.id == right.id }
}
