import ErrandPostgres

/// The reading of due jobs.
extension Feeder {
    /// The maximum number of rows of one lane and priority in one query.
    private static let readLimit = 5_000

    private struct Reading {
        var lane: Lane
        var priority: Int
        var from: LanePlace
        var room: Int
    }

    /// Reads lanes until their windows are full or no more jobs are due.
    ///
    /// - Returns: the time from which jobs of transactions that ended meanwhile may be visible.
    func advance(_ lanes: Set<Lane>, _ memory: inout Memory) async throws -> Instant? {
        var pending = lanes.filter { memory.lanes[$0] != nil }
        var earliest: Instant?
        var overlap = memory.writers.start
        while !pending.isEmpty, !Task.isCancelled {
            let readings = try await readings(of: Array(pending), overlap, &memory)
            let (full, ended) = try await read(readings, &memory)
            // What is due since the start of the overlap was in this reading.
            if let ended, ended < overlap ?? .infinity { earliest = min(earliest ?? ended, ended) }
            // Lanes that returned the maximum number of rows and whose windows have room.
            pending = full
            overlap = nil
        }
        return earliest
    }

    /// - Parameter overlap: the time from which to read polled lanes, although they were read.
    private func readings(
        of lanes: [Lane], _ overlap: Instant?, _ memory: inout Memory
    ) async throws -> [Reading] {
        // A window with few ids has room for one more query. Not asking Redis saves a round trip
        // when a lone job arrives.
        let asked = lanes.filter {
            memory.marks[$0] != nil || memory.sizes[$0, default: 0] > window.limit / 2
        }
        let counts = Dictionary(uniqueKeysWithValues: zip(asked, try await window.counts(asked)))
        for (lane, count) in counts { memory.sizes[lane] = count.total }
        var readings: [Reading] = []
        for lane in lanes {
            guard let cursors = memory.lanes[lane] else { continue }
            let start =
                memory.notices.isPolled(lane) && !memory.isBehind(lane) && counts[lane] == nil
                ? overlap.map { LanePlace(at: $0, id: 0) } : nil
            for (priority, cursor) in cursors.enumerated() {
                let room = window.limit - (counts[lane]?.upTo[priority] ?? 0)
                readings.append(
                    Reading(
                        lane: lane, priority: priority,
                        from: min(cursor.read, start ?? cursor.read),
                        room: min(max(room, 0), Self.readLimit)))
            }
        }
        return readings
    }

    /// Reads several lanes in one statement and stages the jobs.
    ///
    /// - Returns: the lanes that have more due jobs, and the time from which jobs of transactions
    ///   that ended meanwhile may be visible.
    private func read(
        _ readings: [Reading], _ memory: inout Memory
    ) async throws -> (full: Set<Lane>, ended: Instant?) {
        let open = readings.filter { $0.room > 0 }
        var found: [[Staged]] = Array(repeating: [], count: open.count)
        var ended: Instant?
        if !open.isEmpty {
            let rows = try await session.query(
                Statements.advance,
                [.int32Array(open.indices.map(Int32.init))] + open.map(\.lane).columns
                    + [.int16Array(open.map { Int16($0.priority) })] + open.map(\.from).columns
                    + [.int32Array(open.map { Int32($0.room) })])
            if let snapshot = Snapshot(try rows.text(0, 3)) {
                memory.notices.read(snapshot)
                ended = memory.writers.read(snapshot, at: try rows.timestamp(0, 2))
            }
            for row in 1..<rows.count {
                let n = Int(try rows.int32(row, 0))
                found[n].append(
                    Staged(
                        id: try rows.int64(row, 1), priority: Int16(open[n].priority),
                        runAt: try rows.timestamp(row, 2)))
            }
        }
        var batches: [(lane: Lane, jobs: [Staged])] = []
        var full: Set<Lane> = []
        for (reading, jobs) in zip(open, found) {
            let isFull = jobs.count == reading.room
            memory.lanes[reading.lane]?[reading.priority].advanced(
                to: jobs.last.map { LanePlace(at: $0.runAt, id: $0.id) }, wasFull: isFull,
                horizon: memory.horizon)
            memory.notices.read(jobs.count, in: reading.lane)
            memory.starts.read(jobs.count, in: reading.lane)
            if !jobs.isEmpty {
                memory.usedAt[reading.lane] = .now
                batches.append((reading.lane, jobs))
            }
            if isFull { full.insert(reading.lane) }
        }
        for reading in readings where reading.room == 0 {
            memory.lanes[reading.lane]?[reading.priority].isBehind = true
        }
        memory.sizes.merge(try await window.stage(batches)) { $1 }
        try await mark(Set(readings.map(\.lane)), &memory)
        return (full, ended)
    }

    /// Stages jobs that notices named, without waiting for Redis's answer.
    ///
    /// Any login can send a notice, with any id. So only a few in a second are staged without a
    /// look at the table; a worker that pops an id of no due job drops it. If there is no room, the
    /// window requests a reading.
    func stage(_ jobs: [Lane: [Staged]], _ memory: inout Memory) async throws {
        var doubtful: [Int64] = []
        for (lane, jobs) in jobs where memory.lanes[lane] != nil {
            let count = memory.notices.unread(jobs.count, in: lane)
            try await post(jobs.prefix(count), to: lane, upTo: window.unreadLimit)
            doubtful += jobs.dropFirst(count).map(\.id)
        }
        guard !doubtful.isEmpty else { return }
        let rows = try await session.query(Statements.dueJobs, [.int64Array(doubtful)])
        var due: [Lane: [Staged]] = [:]
        for row in 0..<rows.count {
            due[try Lane(rows, row), default: []].append(try Staged(rows, row))
        }
        for (lane, jobs) in due where memory.lanes[lane] != nil {
            try await post(jobs[...], to: lane)
        }
    }

    private func post(
        _ jobs: ArraySlice<Staged>, to lane: Lane, upTo limit: Int? = nil
    ) async throws {
        for jobs in Dictionary(grouping: jobs, by: \.priority).values {
            try await window.post(jobs, to: lane, upTo: limit)
        }
    }

    /// Marks for the fast path which lanes have more due jobs than those in their windows.
    private func mark(_ lanes: Set<Lane>, _ memory: inout Memory) async throws {
        var changes: [(lane: Lane, best: Int?)] = []
        for lane in lanes {
            let best = memory.lanes[lane]?.firstIndex(where: \.isBehind)
            if memory.marks[lane] != best {
                memory.marks[lane] = best
                changes.append((lane, best))
            }
        }
        try await window.mark(behind: changes)
    }
}
