import ErrandRedis

/// The lanes in use, as Redis has them for the workers.
///
/// A worker can run many lanes, most of which are empty. It watches only the lanes in use: those
/// that have ids or had some a moment ago. Staging adds a lane and notifies the live workers; the
/// feeder removes lanes that it forgets. So a lane without jobs costs neither Redis nor a worker
/// anything.
extension ReadyWindow {
    /// Lua: adds a lane to the lanes in use, and notifies the workers if it is new.
    ///
    /// The arguments are the lane and the names of the keys. A wake key of another type must not
    /// keep the next workers from being notified.
    static let useLane = """
        local function use(lane, lanes, filled, added, watchers, wakes)
            redis.call('SADD', filled, lane)
            if redis.call('SISMEMBER', lanes, lane) == 1 then return end
            local time = redis.call('TIME')
            redis.call('ZADD', added, time[1] .. string.format('%06d', time[2]), 'at')
            local ids = redis.call('ZRANGE', watchers, '(' .. time[1], '+inf', 'BYSCORE')
            for _, id in ipairs(ids) do
                redis.pcall('ZADD', wakes .. id, 0, lane)
                redis.call('EXPIRE', wakes .. id, 10)
            end
            -- Last: a script that a key of another type ended is run again, and must notify then.
            redis.call('SADD', lanes, lane)
        end
        """

    // KEYS lanes, filled, added, watchers   ARGV start of the wake keys, then lanes
    private static let useScript = Script(
        """
        \(useLane)
        for i = 2, #ARGV do use(ARGV[i], KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]) end
        """)

    /// Adds lanes whose ids were just staged, without waiting for the answer.
    func use(_ lanes: some Sequence<Lane>) async throws {
        var arguments = Arguments()
        arguments.append(keys.wakes)
        for lane in lanes { arguments.append(lane.name) }
        try await repairing {
            try await connection.post(
                Self.useScript, keys: [keys.lanes, keys.filled, keys.lanesAddedAt, keys.watchers],
                arguments: arguments)
        }
    }

    // KEYS lanes, filled, behind, then the windows   ARGV the lanes
    // A window that has ids keeps its lane.
    private static let forgetScript = Script(
        """
        for i, lane in ipairs(ARGV) do
            if redis.call('EXISTS', KEYS[i + 3]) == 0 then
                redis.call('SREM', KEYS[1], lane)
                redis.call('SREM', KEYS[2], lane)
                redis.call('HDEL', KEYS[3], lane)
            end
        end
        """)

    /// Removes empty lanes from the lanes in use.
    func forget(_ lanes: [Lane]) async throws {
        for start in stride(from: 0, to: lanes.count, by: 1_000) {
            let slice = lanes[start..<min(start + 1_000, lanes.count)]
            var arguments = Arguments()
            for lane in slice { arguments.append(lane.name) }
            try await repairing {
                _ = try await connection.run(
                    Self.forgetScript,
                    keys: [keys.lanes, keys.filled, keys.behind] + slice.map(keys.window),
                    arguments: arguments)
            }
        }
    }

    /// Returns the lanes in use.
    func lanesInUse() async throws -> [Lane] {
        try await repairing {
            Self.lanes(try await connection.send(Command("SMEMBERS", keys.lanes)))
        }
    }

    private static func lanes(_ reply: Reply) -> [Lane] {
        (reply.array ?? []).compactMap { $0.text.flatMap { Lane(name: $0) } }
    }

    // MARK: A worker

    /// The lanes in use, as a worker learns them.
    struct Watched {
        /// All lanes in use, if the worker has to read them.
        var all: [Lane]?
        /// When a lane was last added to them; 0 if Redis knows none.
        var addedAt: Int64
    }

    // KEYS lanes, added, watchers   ARGV worker, seconds, whether to return the lanes
    // A worker that was not watching reads all.
    private static let watchScript = Script(
        """
        local now = tonumber(redis.call('TIME')[1])
        local before = redis.call('ZSCORE', KEYS[3], ARGV[1])
        redis.call('ZADD', KEYS[3], now + tonumber(ARGV[2]), ARGV[1])
        redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
        local added = redis.call('ZSCORE', KEYS[2], 'at') or '0'
        if ARGV[3] == '0' and before and tonumber(before) > now then return {added} end
        return {added, redis.call('SMEMBERS', KEYS[1])}
        """)

    /// Has a worker notified of new lanes in use for the next ten seconds.
    ///
    /// - Parameter isWhole: whether to return all lanes; also done if the worker was not watching
    ///   lately.
    func watch(worker: Int64, isWhole: Bool) async throws -> Watched {
        var arguments = Arguments()
        arguments.append(worker)
        arguments.append(10)
        arguments.append(isWhole ? 1 : 0)
        let reply = try await repairing {
            try await connection.run(
                Self.watchScript, keys: [keys.lanes, keys.lanesAddedAt, keys.watchers],
                arguments: arguments)
        }
        let parts = reply.array ?? []
        return Watched(
            all: parts.count > 1 ? Self.lanes(parts[1]) : nil,
            addedAt: parts.first?.text.flatMap { Int64($0) } ?? 0)
    }

    /// The maximum number of new lanes that a worker learns at once.
    static let newLaneLimit = 1_000

    /// Returns the new lanes in use of which a worker was notified.
    func newLanes(of worker: Int64) async throws -> [Lane] {
        let reply = try await repairing(worker: worker) {
            try await connection.send(
                Command("ZPOPMIN", keys.wake(worker: worker), String(Self.newLaneLimit)))
        }
        return (reply.array ?? []).compactMap { $0.text.flatMap { Lane(name: $0) } }
    }

    /// Ends the watch of a worker that stops.
    func unwatch(worker: Int64) async throws {
        _ = try await connection.pipeline([
            Command("ZREM", keys.watchers, String(worker)),
            Command("DEL", keys.wake(worker: worker)),
        ])
    }

    /// Returns some of the lanes in use that may have ids, at random.
    func someFilled(_ count: Int) async throws -> [Lane] {
        try await repairing {
            Self.lanes(
                try await connection.send(Command("SRANDMEMBER", keys.filled, String(count))))
        }
    }
}
