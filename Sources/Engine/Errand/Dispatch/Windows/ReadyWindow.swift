import ErrandRedis

/// The number of ids in a lane's window.
struct WindowCount: Sendable {
    var total: Int
    /// The number of ids of each priority and the more urgent ones.
    var upTo: [Int]
}

/// The bounded sets of ready ids in Redis: staging and popping.
///
/// Redis holds only ids, never arguments.
struct ReadyWindow: Sendable {
    let connection: Connection
    let keys: RedisKeys
    /// The maximum number of ids of a lane in Redis; the rest of a backlog waits in PostgreSQL.
    let limit: Int
    /// Receives the names of keys that had another type and were deleted; without it, as in a
    /// client, none is deleted.
    var log: Log?
    let throttle = LogThrottle()

    // Adds ids to a lane's window without the feeder, but not beyond its limit, and not ahead of
    // older jobs that still wait in PostgreSQL.
    // KEYS window, behind, feed, then those of `use`
    // ARGV lane, limit, priority, start of the wake keys, then pairs of score and id
    // Returns the number of ids added or already present, and notifies the feeder of the others.
    // It is idempotent.
    private static let stageScript = Script(
        """
        \(useLane)
        local best = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '')
        if best and tonumber(ARGV[3]) >= best then return 0 end
        local room = tonumber(ARGV[2]) - redis.call('ZCARD', KEYS[1])
        local last = math.min(#ARGV, 4 + 2 * math.max(room, 0))
        for from = 5, last, 1000 do
            redis.call('ZADD', KEYS[1], 'NX', unpack(ARGV, from, math.min(from + 999, last)))
        end
        use(ARGV[1], KEYS[4], KEYS[5], KEYS[6], KEYS[7], ARGV[4])
        if last < #ARGV then redis.call('ZADD', KEYS[3], 0, ARGV[1]) end
        return (last - 4) / 2
        """)

    /// Stages jobs that have just become due, without the feeder: the fast path.
    ///
    /// - Returns: whether the window had room for all.
    func offer(_ jobs: [Staged], to lane: Lane) async throws -> Bool {
        var taken = 0
        for (priority, jobs) in Dictionary(grouping: jobs, by: \.priority) {
            for start in stride(from: 0, to: jobs.count, by: 2_000) {
                let slice = jobs[start..<min(start + 2_000, jobs.count)]
                let reply = try await repairing([lane]) {
                    try await connection.run(
                        Self.stageScript, keys: stageKeys(lane),
                        arguments: stageArguments(slice, lane, priority, upTo: limit))
                }
                taken += Int(reply.int ?? 0)
            }
        }
        return taken == jobs.count
    }

    /// The number of ids above which jobs that were not read from the table are not staged: the
    /// rest of a window is for those that were.
    var unreadLimit: Int { max(limit / 10, 1) }

    /// Stages a few jobs of one priority without waiting for the answer.
    ///
    /// - Parameter limit: the size of the window beyond which the jobs are not staged; nil for the
    ///   usual one.
    /// - Throws: `RedisError`, also for the failure of an earlier call.
    func post(_ jobs: [Staged], to lane: Lane, upTo limit: Int? = nil) async throws {
        guard let priority = jobs.first?.priority else { return }
        try await repairing([lane]) {
            try await connection.post(
                Self.stageScript, keys: stageKeys(lane),
                arguments: stageArguments(jobs[...], lane, priority, upTo: limit ?? self.limit))
        }
    }

    private func stageKeys(_ lane: Lane) -> [String] {
        [
            keys.window(lane), keys.behind, keys.feed, keys.lanes, keys.filled, keys.lanesAddedAt,
            keys.watchers,
        ]
    }

    private func stageArguments(
        _ jobs: ArraySlice<Staged>, _ lane: Lane, _ priority: Int16, upTo limit: Int
    ) -> Arguments {
        var arguments = Arguments()
        arguments.append(lane.name)
        arguments.append(limit)
        arguments.append(priority)
        arguments.append(keys.wakes)
        for job in jobs {
            arguments.append(job.score)
            arguments.append(job.id)
        }
        return arguments
    }

    /// Returns the same windows over another connection.
    func over(_ connection: Connection) -> ReadyWindow {
        ReadyWindow(connection: connection, keys: keys, limit: limit, log: log)
    }

    /// Stages jobs that the feeder read.
    ///
    /// Staging a job twice is harmless: its score does not change, and Redis adds only ids that are
    /// missing.
    ///
    /// - Returns: the sizes of the windows of these lanes.
    @discardableResult
    func stage(_ batches: [(lane: Lane, jobs: [Staged])]) async throws -> [Lane: Int] {
        var commands: [Command] = []
        for batch in batches {
            for start in stride(from: 0, to: batch.jobs.count, by: 5_000) {
                var command = Command("ZADD", keys.window(batch.lane), "NX")
                for job in batch.jobs[start..<min(start + 5_000, batch.jobs.count)] {
                    command.append(job.score)
                    command.append(job.id)
                }
                commands.append(command)
            }
        }
        guard !commands.isEmpty else { return [:] }
        let all = commands + batches.map { Command("ZCARD", keys.window($0.lane)) }
        let replies = try await repairing(batches.map(\.lane)) {
            let replies = try await connection.pipeline(all)
            for case .error(let text) in replies { throw RedisError.server(text) }
            return replies
        }
        try await use(batches.map(\.lane))
        var sizes: [Lane: Int] = [:]
        for (batch, reply) in zip(batches, replies.suffix(batches.count)) {
            sizes[batch.lane] = Int(reply.int ?? 0)
        }
        return sizes
    }

    /// Marks for the fast path from which priority on jobs of a lane still wait in PostgreSQL.
    func mark(behind marks: [(lane: Lane, best: Int?)]) async throws {
        guard !marks.isEmpty else { return }
        try await repairing {
            try Self.expectTypes(
                in: try await connection.pipeline(
                    marks.map { mark in
                        if let best = mark.best {
                            Command("HSET", keys.behind, mark.lane.name, String(best))
                        } else {
                            Command("HDEL", keys.behind, mark.lane.name)
                        }
                    }))
        }
    }

    /// Returns the sizes of the windows.
    func counts(_ lanes: [Lane]) async throws -> [WindowCount] {
        guard !lanes.isEmpty else { return [] }
        let cards = try await repairing(lanes) {
            let cards = try await connection.pipeline(
                lanes.map { Command("ZCARD", keys.window($0)) })
            try Self.expectTypes(in: cards)
            return cards
        }
        var counts = cards.map { reply in
            let total = Int(reply.int ?? 0)
            return WindowCount(total: total, upTo: [total, total, total, total])
        }
        // A window with few ids has room for every priority; the others need counts by priority.
        let full = counts.indices.filter { counts[$0].total > limit / 2 }
        guard !full.isEmpty else { return counts }
        let bands = try await connection.pipeline(
            full.flatMap { index in
                (1...3).map { band in
                    Command(
                        "ZCOUNT", keys.window(lanes[index]), "-inf",
                        "(\(Int64(band) * Staged.band)")
                }
            })
        for (place, index) in full.enumerated() {
            for band in 0..<3 {
                counts[index].upTo[band] = Int(bands[place * 3 + band].int ?? 0)
            }
        }
        return counts
    }

    /// Ends a worker's blocking pop.
    func wake(worker: Int64) async throws {
        let key = keys.wake(worker: worker)
        try await repairing(worker: worker) {
            try Self.expectTypes(
                in: try await connection.pipeline([
                    Command("ZADD", key, "0", "x"), Command("EXPIRE", key, "10"),
                ]))
        }
    }

    /// Requests that the feeder read lanes; `*` means all lanes, and new workers.
    func askForFeed(_ lanes: [String]) async throws {
        var command = Command("ZADD", keys.feed)
        for lane in lanes {
            command.append("0")
            command.append(lane)
        }
        try await repairing { _ = try await connection.send(command) }
    }

    /// Waits for requests to the feeder and returns them.
    func feedRequests(waiting: Duration) async throws -> [String] {
        let command = Command(
            "BZMPOP", waiting.secondsText, "1", keys.feed, "MIN", "COUNT", "1000")
        let reply = try await repairing {
            try await connection.blocking(command, upTo: waiting)
        }
        guard let parts = reply.array, parts.count == 2 else { return [] }
        return (parts[1].array ?? []).compactMap { $0.array?.first?.text }
    }

    /// Returns whether Redis still has the staged ids, and sets the mark for the next check.
    ///
    /// It first deletes the keys of another type on which a command may fail without anybody who
    /// waits for its answer.
    func remembers() async throws -> Bool {
        // A user of Redis that may not read types repairs nothing.
        _ = try? await repair()
        return try await connection.send(Command("SET", keys.fed, "1", "GET")).isNull == false
    }
}

extension Duration {
    /// The duration in the form of Redis: seconds with a fraction.
    var secondsText: String {
        let (seconds, attoseconds) = components
        return String(Double(seconds) + Double(attoseconds) * 1e-18)
    }

    /// The duration in whole milliseconds, limited to a thousand years.
    var milliseconds: Int64 {
        let limit: Int64 = 1_000 * 366 * 86_400
        let seconds = min(max(components.seconds, -limit), limit)
        return seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
