package import Errand
import ErrandPostgres
package import ErrandRedis

/// The staged jobs of a database in Redis, compared with PostgreSQL.
package struct WindowCheck: Sendable {
    /// One lane's window.
    package struct Window: Sendable {
        package var lane: Lane
        package var size: Int
        /// The number of ids compared.
        package var sampled = 0
        /// Of these, the ids of jobs that are no longer waiting: workers drop them.
        package var stale = 0
        /// Due jobs that should be staged but are not.
        package var missing: [Int64] = []
    }

    /// Redis itself.
    package var server: RedisInfo
    package var windows: [Window]
    /// Whether a feeder has staged jobs since Redis was last emptied.
    package var hasStaging: Bool
    /// Whether a live worker is the feeder.
    package var isFeederAlive: Bool
    /// Whether any worker is alive.
    package var hasWorkers: Bool
}

/// Checks and empties the windows of a database in Redis.
package struct WindowInspector: Sendable {
    private let connection: Connection
    private let inspector: Inspector

    /// Creates an inspector of the windows in one Redis server.
    package init(_ address: RedisAddress, _ inspector: Inspector) {
        connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(2), replyTimeout: .seconds(5))
        self.inspector = inspector
    }

    /// The number of ids to compare from the head of each window, and again at random.
    private static let sample = 100
    /// The time in seconds within which due jobs should be staged: the feeder reads every second.
    private static let timeout = 3.0
    /// The time before jobs that seem to be missing are checked again.
    private static let pause = Duration.milliseconds(2_500)

    private func keys() async throws -> RedisKeys {
        RedisKeys(
            instance: try await inspector.session.query(Statements.instance).text(0, 0))
    }

    // MARK: check

    /// Compares Redis with PostgreSQL; takes some seconds if jobs seem to be missing.
    package func check() async throws -> WindowCheck {
        let server = try await RedisInfo.ask(connection)
        let keys = try await keys()
        let lanes = try await lanes(keys)
        let feeder = try await inspector.leaders().first { $0.role == .feeder }
        var check = WindowCheck(
            server: server, windows: [], hasStaging: try await hasStaging(keys),
            isFeederAlive: feeder?.isAlive == true,
            hasWorkers: try await inspector.workers().contains(where: \.isAlive))
        for lane in lanes {
            let window = try await window(lane, keys)
            if window.size > 0 || lanes.count < 50 { check.windows.append(window) }
        }
        guard check.isFeederAlive else { return check }
        let absent = try await missing(from: lanes, keys)
        guard !absent.isEmpty || !check.hasStaging else { return check }
        // A job may have been popped just now or be about to be staged: check again later.
        try await Task.sleep(for: Self.pause)
        check.hasStaging = try await hasStaging(keys)
        let still = try await missing(from: absent.keys.sorted { $0.name < $1.name }, keys)
        for (lane, ids) in still {
            let both = ids.filter { absent[lane]?.contains($0) == true }
            guard !both.isEmpty else { continue }
            if let place = check.windows.firstIndex(where: { $0.lane == lane }) {
                check.windows[place].missing = both
            } else {
                var window = try await window(lane, keys)
                window.missing = both
                check.windows.append(window)
            }
        }
        return check
    }

    private func hasStaging(_ keys: RedisKeys) async throws -> Bool {
        try await connection.send(Command("EXISTS", keys.fed)).int == 1
    }

    /// The lanes that have jobs or staged ids and that a live worker can run.
    private func lanes(_ keys: RedisKeys) async throws -> [Lane] {
        let staged = try await stagedLanes(keys)
        return try await inspector.session.query(Statements.lanesToCheck, staged.columns)
            .map { try Lane($0) }.sorted { $0.name < $1.name }
    }

    private func stagedLanes(_ keys: RedisKeys) async throws -> [Lane] {
        var lanes: Set<Lane> = []
        try await scan(keys.windows + "*") { names in
            lanes.formUnion(names.compactMap { keys.lane(ofWindow: $0) })
        }
        return Array(lanes)
    }

    /// Reads the names of the keys that match a pattern.
    private func scan(
        _ pattern: String, _ read: ([String]) async throws -> Void
    ) async throws {
        var cursor = "0"
        repeat {
            let reply = try await connection.send(
                Command("SCAN", cursor, "MATCH", pattern, "COUNT", "1000"))
            guard let parts = reply.array, parts.count == 2, let next = parts[0].text else {
                throw RedisError.server("unexpected reply to SCAN: \(reply)")
            }
            cursor = next
            try await read((parts[1].array ?? []).compactMap(\.text))
        } while cursor != "0"
    }

    private func window(_ lane: Lane, _ keys: RedisKeys) async throws -> WindowCheck.Window {
        let key = keys.window(lane)
        let replies = try await connection.pipeline([
            Command("ZCARD", key), Command("ZRANGE", key, "0", String(Self.sample - 1)),
            Command("ZRANDMEMBER", key, String(Self.sample)),
        ])
        for case .error(let text) in replies { throw RedisError.server(text) }
        let ids = Set(
            replies[1...].flatMap { $0.array ?? [] }.compactMap { $0.text.flatMap(Int64.init) })
        var window = WindowCheck.Window(
            lane: lane, size: Int(replies[0].int ?? 0), sampled: ids.count)
        guard !ids.isEmpty else { return window }
        let waiting = try await inspector.session.query(
            Statements.stillWaiting, [.int64Array(ids.sorted())]
        ).count
        window.stale = ids.count - waiting
        return window
    }

    /// Jobs that have been due for a while but are not staged, although their window has room.
    private func missing(
        from lanes: [Lane], _ keys: RedisKeys
    ) async throws -> [Lane: [Int64]] {
        guard !lanes.isEmpty else { return [:] }
        let rows = try await inspector.session.query(
            Statements.dueLongest,
            lanes.columns + [.double(Self.timeout), .int32(Int32(Self.sample))])
        var due: [(lane: Lane, id: Int64, priority: Int)] = []
        for row in rows {
            due.append(
                (
                    lanes[Int(try row.int64("n")) - 1], try row.int64("id"),
                    Int(try row.int16("priority"))
                ))
        }
        guard !due.isEmpty else { return [:] }
        let marks = lanes.map { Command("HGET", keys.behind, $0.name) }
        let replies = try await connection.pipeline(
            marks + due.map { Command("ZSCORE", keys.window($0.lane), String($0.id)) })
        for case .error(let text) in replies { throw RedisError.server(text) }
        // The backlog marks: jobs from this priority on wait in PostgreSQL, as the window is full.
        var behind: [Lane: Int] = [:]
        for (lane, reply) in zip(lanes, replies) { behind[lane] = reply.int.map { Int($0) } }
        var missing: [Lane: [Int64]] = [:]
        for (job, reply) in zip(due, replies.dropFirst(lanes.count)) where reply.isNull {
            guard job.priority < behind[job.lane] ?? Int.max else { continue }
            missing[job.lane, default: []].append(job.id)
        }
        return missing
    }

    // MARK: rebuild

    /// Deletes all keys of this database, and asks the feeder to stage due jobs again.
    ///
    /// Keys of other databases and programs in the same Redis stay. The audit entry is written
    /// first, because Redis does not take part in a transaction.
    ///
    /// - Returns: the number of deleted keys.
    package func empty(by operatorName: String, reason: String?) async throws -> Int {
        try await connection.connect()
        let keys = try await keys()
        _ = try await inspector.session.query(
            AuditLine(
                operatorName: operatorName, action: "redis rebuild", subject: keys.prefix,
                reason: reason
            ).statement)
        var deleted = 0
        try await scan(keys.prefix + "*") { names in
            // Deletes the mark last: once it is missing, the feeder stages everything again.
            let names = names.filter { $0 != keys.fed }
            guard !names.isEmpty else { return }
            var command = Command("UNLINK")
            for name in names { command.append(name) }
            deleted += Int(try await connection.send(command).int ?? 0)
        }
        deleted += Int(try await connection.send(Command("UNLINK", keys.fed)).int ?? 0)
        _ = try await connection.send(Command("ZADD", keys.feed, "0", "*"))
        return deleted
    }

    /// Waits until the feeder has resumed staging; false after `limit`.
    package func waitUntilFed(within limit: Duration) async throws -> Bool {
        let keys = try await keys()
        let end = ContinuousClock.now + limit
        while try await !hasStaging(keys) {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(50))
        }
        return true
    }
}
