package import Postgres
package import Redis

extension Inspector {
    /// Lets waiting jobs wait no longer.
    package func runNow(_ ids: [Int64]) async throws -> [Int64: Effect] {
        let rows = try await session.query(Statements.retryWaiting, [.int64Array(ids.sorted())])
        return try await effects(ids, changed: rows)
    }

    /// Gives waiting jobs another time; one that has passed means now.
    package func reschedule(_ ids: [Int64], at time: Instant) async throws -> [Int64: Effect] {
        let rows = try await session.query(
            Statements.reschedule, [.int64Array(ids.sorted()), .timestamp(time)])
        return try await effects(ids, changed: rows)
    }

    /// Moves waiting jobs to another queue, which is made if need be, behind those that are due
    /// there.
    ///
    /// With Redis at hand they are taken out of the windows where they were staged; without it a
    /// worker of their old queue may still run them.
    package func move(
        _ ids: [Int64], to queue: String, priority: Priority?, redis: RedisAddress?
    ) async throws -> [Int64: Effect] {
        let answers = try await session.pipeline([
            Statement(Statements.addQueue, [.text(queue)]),
            Statement(
                Statements.move,
                [
                    .int64Array(ids.sorted()), .text(queue),
                    priority.map { .int16($0.rawValue) } ?? .null,
                ]),
        ])
        let effects = try await effects(ids, changed: answers[1])
        var lanes: [Lane: [Int64]] = [:]
        for row in answers[1] {
            let lane = Lane(
                queue: try row.text("was"), kind: try row.text("kind"),
                version: Int(try row.int16("args_version")))
            lanes[lane, default: []].append(try row.int64("id"))
        }
        guard let redis, !lanes.isEmpty else { return effects }
        let instance = try await session.query(Statements.instance, []).text(0, 0)
        let window = WindowLook(redis, instance: instance)
        for (lane, ids) in lanes { try? await window.forget(ids, in: lane) }
        return effects
    }

    /// Replaces the arguments or the tags of a waiting job; nil leaves them.
    package func edit(_ id: Int64, args: [UInt8]?, tags: [String]?) async throws -> Effect {
        let rows = try await session.query(
            Statements.edit,
            [
                .int64(id), args.map(Parameter.json) ?? .null,
                tags.map(Parameter.textArray) ?? .null,
            ])
        return try await effects([id], changed: rows)[id] ?? .unknown
    }

    /// Ends waiting jobs for good, and takes dead ones out of the dead letters.
    package func discard(_ ids: [Int64], by operatorName: String) async throws -> [Int64: Effect] {
        let parameters: [Parameter] = [
            .int64Array(ids.sorted()), .text("discarded by \(operatorName)"),
        ]
        let answers = try await session.pipeline([
            Statement(Statements.cancelWaiting, parameters),
            Statement(Statements.discardDead, parameters),
        ])
        var effects = try await effects(ids, changed: answers[0], as: .discarded)
        for row in answers[1] { effects[try row.int64(0)] = .discarded }
        return effects
    }

    /// Where these jobs are in their lives; those that are not there are left out.
    package func states(_ ids: [Int64]) async throws -> [Int64: JobState] {
        var states: [Int64: JobState] = [:]
        for row in try await session.query(Statements.states, [.int64Array(ids.sorted())]) {
            states[try row.int64(0)] = JobState(rawValue: try row.text(1))
        }
        return states
    }

    /// What became of each, when those of the rows were changed and the others stayed.
    private func effects(
        _ ids: [Int64], changed rows: Rows, as done: Effect = .changed
    ) async throws -> [Int64: Effect] {
        var effects: [Int64: Effect] = [:]
        for row in rows { effects[try row.int64(0)] = done }
        let rest = ids.filter { effects[$0] == nil }
        guard !rest.isEmpty else { return effects }
        let states = try await states(rest)
        for id in rest {
            switch states[id] {
            case nil: effects[id] = .unknown
            case .completed, .cancelled, .dead: effects[id] = .finished
            case .running: effects[id] = .running
            // Handed back a moment ago: as it was claimed when we came.
            case .scheduled, .available, .retrying: effects[id] = .running
            }
        }
        return effects
    }
}
