import ErrandRedis

/// Popping ids.
///
/// Popping does not give ownership: only the claim in PostgreSQL does.
extension ReadyWindow {
    /// The lanes of one queue to pop from, and the maximum number of ids.
    struct Demand {
        var lanes: [Lane]
        var count: Int
    }

    /// The answer of ``pop(_:isSample:)``.
    struct Popped {
        /// The ids of each demand, in order.
        var ids: [[Int64]]
        /// When a lane was last added to the lanes in use; 0 if Redis knows none.
        var addedAt: Int64
    }

    // Pops up to a number of ids of each queue, in order over all its lanes.
    // KEYS behind, feed, added, filled, then the windows
    // ARGV low-water mark, whether to clean `filled`, then for each queue: the number of ids, the
    // number of lanes, and their names
    // Returns the time in `added`, then for each queue the number of ids and the ids. It notifies
    // the feeder of lanes that run low while more of their jobs wait in PostgreSQL.
    private static let popScript = Script(
        """
        local low, cleans = tonumber(ARGV[1]), ARGV[2] == '1'
        local reply = {tonumber(redis.call('ZSCORE', KEYS[3], 'at') or '0')}
        local key, arg = 4, 3
        while arg <= #ARGV do
            local wanted, count = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
            arg = arg + 1
            local lanes = {}
            for i = 1, count do
                if redis.call('EXISTS', KEYS[key + i]) == 1 then
                    lanes[#lanes + 1] = i
                elseif cleans then
                    redis.call('SREM', KEYS[4], ARGV[arg + i])
                end
            end
            reply[#reply + 1] = 0
            local place = #reply
            if #lanes == 1 then
                local got = redis.call('ZPOPMIN', KEYS[key + lanes[1]], wanted)
                for i = 1, #got, 2 do reply[#reply + 1] = got[i] end
            elseif #lanes > 1 then
                local heads, at = {}, {}
                for l, i in ipairs(lanes) do
                    heads[l] = redis.call('ZRANGE', KEYS[key + i], 0, wanted - 1, 'WITHSCORES')
                    at[l] = 1
                end
                while #reply - place < wanted do
                    local best, score = nil, nil
                    for l = 1, #lanes do
                        local s = heads[l][at[l] + 1]
                        if s and (not best or tonumber(s) < score) then
                            best, score = l, tonumber(s)
                        end
                    end
                    if not best then break end
                    reply[#reply + 1] = heads[best][at[best]]
                    at[best] = at[best] + 2
                end
                for l, i in ipairs(lanes) do
                    if at[l] > 1 then
                        redis.call('ZREMRANGEBYRANK', KEYS[key + i], 0, (at[l] - 1) / 2 - 1)
                    end
                end
            end
            reply[place] = #reply - place
            for _, i in ipairs(lanes) do
                if redis.call('HEXISTS', KEYS[1], ARGV[arg + i]) == 1
                    and redis.call('ZCARD', KEYS[key + i]) < low then
                    redis.call('ZADD', KEYS[2], 0, ARGV[arg + i])
                end
            end
            key, arg = key + count, arg + count + 1
        end
        return reply
        """)

    /// Pops ids of several queues.
    ///
    /// - Parameter isSample: whether the queues were chosen by ``someFilled(_:)``, which then
    ///   forgets the empty lanes.
    func pop(_ demands: [Demand], isSample: Bool = false) async throws -> Popped {
        var arguments = Arguments()
        arguments.append(limit / 2)
        arguments.append(isSample ? 1 : 0)
        var names = [keys.behind, keys.feed, keys.lanesAddedAt, keys.filled]
        for demand in demands {
            arguments.append(demand.count)
            arguments.append(demand.lanes.count)
            for lane in demand.lanes {
                arguments.append(lane.name)
                names.append(keys.window(lane))
            }
        }
        let reply = try await repairing(demands.flatMap(\.lanes)) {
            try await connection.runForIntegers(
                Self.popScript, keys: names, arguments: arguments)
        }
        var ids: [[Int64]] = []
        var place = 1
        while place < reply.count {
            let count = Int(reply[place])
            ids.append(Array(reply[(place + 1)..<(place + 1 + count)]))
            place += 1 + count
        }
        return Popped(ids: ids, addedAt: reply.first ?? 0)
    }

    /// What ended a blocking pop.
    enum Woken {
        /// An id, and the key of its window.
        case id(Int64, key: String)
        /// A new lane in use.
        case lane(Lane)
        /// A wake-up or the timeout.
        case nothing
    }

    /// Waits for an id of the lanes, and pops it.
    func popOne(from lanes: [Lane], worker: Int64, waiting: Duration) async throws -> Woken {
        let wake = keys.wake(worker: worker)
        var command = Command("BZMPOP", waiting.secondsText, String(lanes.count + 1))
        command.append(wake)
        for lane in lanes { command.append(keys.window(lane)) }
        command.append("MIN")
        let reply = try await repairing(lanes, worker: worker) {
            try await connection.blocking(command, upTo: waiting)
        }
        guard let parts = reply.array, parts.count == 2, let key = parts[0].text,
            let member = parts[1].array?.first?.array?.first?.text
        else { return .nothing }
        if key == wake { return Lane(name: member).map(Woken.lane) ?? .nothing }
        return Int64(member).map { .id($0, key: key) } ?? .nothing
    }
}
