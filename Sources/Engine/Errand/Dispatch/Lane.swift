package import ErrandPostgres

/// Jobs that the same workers can run, in one queue: what is staged and popped together.
///
/// The version of the arguments belongs to it: a worker that knows an older version of the kind
/// must not be given the newer one.
package struct Lane: Hashable, Sendable {
    package var queue: String
    package var kind: String
    package var version: Int

    package init(queue: String, kind: String, version: Int) {
        self.queue = queue
        self.kind = kind
        self.version = version
    }

    /// As in a notification and in Redis: tabs occur in no name.
    package var name: String { "\(queue)\t\(kind)\t\(version)" }

    /// Behind the name: a job of the lane was enqueued for later.
    package static let later = "\tlater"

    /// A request to the feeder: a job that was due at this time waits again, perhaps behind what
    /// it has read.
    ///
    /// To the second, so that equal requests are made once.
    package func again(since time: Instant) -> String {
        "\(name)\tagain\t\(time.microseconds / 1_000_000 - 1)"
    }

    /// The lane and time of such a request.
    package static func again(_ request: some StringProtocol) -> (lane: Lane, since: Instant)? {
        let parts = request.split(separator: "\t")
        guard parts.count == 5, parts[3] == "again", let second = Int64(parts[4]),
            let lane = Lane(name: parts[..<3].joined(separator: "\t"))
        else { return nil }
        let microseconds = second.multipliedReportingOverflow(by: 1_000_000)
        return (
            lane,
            microseconds.overflow
                ? .negativeInfinity : Instant(microseconds: microseconds.partialValue)
        )
    }

    package init?(name: some StringProtocol) {
        let parts = name.split(separator: "\t")
        guard parts.count == 3, let version = Int(parts[2]) else { return nil }
        self.init(queue: String(parts[0]), kind: String(parts[1]), version: version)
    }

    /// As a worker lists what it can run: `kind@version`.
    package var capability: String { "\(kind)@\(version)" }

    package init?(queue: String, capability: String) {
        guard let at = capability.lastIndex(of: "@"),
            let version = Int(capability[capability.index(after: at)...])
        else { return nil }
        self.init(queue: queue, kind: String(capability[..<at]), version: version)
    }
}

extension Lane {
    /// From a row `id, queue, kind, args_version, priority, run_at`, as statements return that
    /// let jobs wait again.
    package init(_ rows: Rows, _ row: Int) throws {
        self.init(
            queue: try rows.text(row, 1), kind: try rows.text(row, 2),
            version: Int(try rows.int16(row, 3)))
    }
}

extension Staged {
    /// From the same row.
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

    /// Where it stands in the window: priority, then the time it was due, in microseconds since
    /// 2020.
    ///
    /// A double holds 53 bits: 2 for the priority, 50 for the time (until the year 2055).
    package var score: Int64 {
        let time = min(max(runAt.microseconds, Self.epoch) - Self.epoch, Self.band - 1)
        return Int64(priority) * Self.band + time
    }

    package static let band: Int64 = 1 << 50
    /// 2020-01-01 in PostgreSQL's microseconds since 2000-01-01.
    private static let epoch: Int64 = 7_305 * 86_400 * 1_000_000

    package static func == (left: Staged, right: Staged) -> Bool { left.id == right.id }
}
