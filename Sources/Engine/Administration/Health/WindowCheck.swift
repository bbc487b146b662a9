package import Errand
import ErrandPostgres
package import ErrandRedis

/// What Redis holds of this database, compared with what PostgreSQL says.
package struct WindowCheck: Sendable {
    /// One lane's window.
    package struct Window: Sendable {
        package var lane: Lane
        package var size: Int
        /// Ids that were compared.
        package var sampled = 0
        /// Of these, those that do not wait any more: dropped when they are popped.
        package var stale = 0
        /// Due jobs that should be there and are not.
        package var missing: [Int64] = []
    }

    /// Redis itself.
    package var server: RedisLook
    package var windows: [Window]
    /// Whether Redis has what a feeder staged since it was last emptied.
    package var isFed: Bool
    /// Whether a live worker leads in feeding.
    package var isFeederAlive: Bool
    /// Whether any worker is alive.
    package var hasWorkers: Bool
}

/// Looks at all windows of a database in Redis, and empties them.
package struct WindowInspector: Sendable {
    private let connection: Connection
    private let inspector: Inspector

    /// - Throws: `PostgresError` when the database cannot say which keys are its own.
    package init(_ address: RedisAddress, _ inspector: Inspector) {
        connection = Connection(
            address, name: "errand-cli", connectTimeout: .seconds(2), replyTimeout: .seconds(5))
        self.inspector = inspector
    }

    /// Ids of each window that are compared, from its head and from anywhere.
    private static let sample = 100
    /// Jobs due for so long should be staged: the feeder reads once a second.
    private static let patience = 3.0
    /// Between two looks at what seems to be missing.
    private static let pause = Duration.milliseconds(2_500)

    private func keys() async throws -> RedisKeys {
        RedisKeys(
            instance: try await inspector.session.query(Statements.instance).text(0, 0))
    }

    // MARK: check

    /// Compares; takes some seconds when jobs seem to be missing.
    package func check() async throws -> WindowCheck {
        let server = try await RedisLook.ask(connection)
        let keys = try await keys()
        let lanes = try await lanes()
        let duties = try await inspector.leaders().first { $0.lead == .duties }
        var check = WindowCheck(
            server: server, windows: [], isFed: try await isFed(keys),
            isFeederAlive: duties?.isAlive == true,
            hasWorkers: try await inspector.workers().contains(where: \.isAlive))
        for lane in lanes {
            let window = try await window(lane, keys)
            if window.size > 0 || lanes.count < 50 { check.windows.append(window) }
        }
        guard check.isFeederAlive else { return check }
        let absent = try await missing(from: lanes, keys)
        guard !absent.isEmpty || !check.isFed else { return check }
        // Popped a moment ago, or about to be staged: what is still so later is trouble.
        try await Task.sleep(for: Self.pause)
        check.isFed = try await isFed(keys)
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

    private func isFed(_ keys: RedisKeys) async throws -> Bool {
        try await connection.send(Command("EXISTS", keys.fed)).int == 1
    }

    private func lanes() async throws -> [Lane] {
        let session = inspector.session
        var lanes: Set<Lane> = []
        for row in try await session.query(Statements.lanesToCheck) {
            if let lane = Lane(queue: try row.text(0), capability: try row.text(1)) {
                lanes.insert(lane)
            }
        }
        return lanes.sorted { $0.name < $1.name }
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

    /// Jobs that have been due for a while and are not staged, though there is room for them.
    private func missing(
        from lanes: [Lane], _ keys: RedisKeys
    ) async throws -> [Lane: [Int64]] {
        guard !lanes.isEmpty else { return [:] }
        let rows = try await inspector.session.query(
            Statements.dueLongest,
            [
                .textArray(lanes.map(\.queue)), .textArray(lanes.map(\.kind)),
                .int16Array(lanes.map { Int16($0.version) }), .double(Self.patience),
                .int32(Int32(Self.sample)),
            ])
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
        // From these priorities on a window is full, and the rest waits in PostgreSQL.
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

    /// Deletes all keys of this database, and asks the feeder to stage again.
    ///
    /// Keys of other databases and programs in the same Redis stay. Noted in the audit first: what
    /// is in Redis knows no transaction.
    ///
    /// - Returns: how many keys were deleted.
    package func empty(by operatorName: String, reason: String?) async throws -> Int {
        try await connection.connect()
        let keys = try await keys()
        _ = try await inspector.session.query(
            AuditLine(
                operatorName: operatorName, action: "redis rebuild", subject: keys.prefix,
                reason: reason
            ).statement)
        var deleted = 0
        var cursor = "0"
        repeat {
            let reply = try await connection.send(
                Command("SCAN", cursor, "MATCH", keys.prefix + "*", "COUNT", "1000"))
            guard let parts = reply.array, parts.count == 2, let next = parts[0].text else {
                throw RedisError.server("SCAN was answered with \(reply)")
            }
            cursor = next
            // The mark goes last: once it is missing, the feeder reads all anew.
            let names = (parts[1].array ?? []).compactMap(\.text).filter { $0 != keys.fed }
            guard !names.isEmpty else { continue }
            var command = Command("UNLINK")
            for name in names { command.append(name) }
            deleted += Int(try await connection.send(command).int ?? 0)
        } while cursor != "0"
        deleted += Int(try await connection.send(Command("UNLINK", keys.fed)).int ?? 0)
        _ = try await connection.send(Command("ZADD", keys.feed, "0", "*"))
        return deleted
    }

    /// Waits until the feeder has begun to stage again; false when it has not within `limit`.
    package func waitUntilFed(within limit: Duration) async throws -> Bool {
        let keys = try await keys()
        let end = ContinuousClock.now + limit
        while try await !isFed(keys) {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(50))
        }
        return true
    }
}
