import Errand
import ErrandPostgres

extension Operations {
    /// The result of one chunk of an operation.
    package struct Step: Sendable {
        /// The processed jobs.
        package var ids: [Int64] = []
        /// Whether the operation is complete or was ended.
        package var isOver = false
        /// Of the processed jobs, running ones whose workers were asked to cancel them.
        var cancelRequested = 0
        /// Jobs moved away from these lanes.
        var left: [Lane: [Int64]] = [:]
        /// Jobs that another session had locked.
        var locked: [Int64] = []

        mutating func add(_ other: Step) {
            ids += other.ids
            isOver = other.isOver
            cancelRequested += other.cancelRequested
        }
    }

    /// An operation, read from its locked row.
    struct Work {
        var id: Int64
        var action: BulkOperation.Action
        var operatorName: String
        var reason: String?
        var filter: JobFilter
        var change: BulkChange
        var cursor: Int64
        var stage: Int16
        var last: Int64
        var room: Int64

        init(_ row: Row) throws {
            id = try row.int64("id")
            action = BulkOperation.Action(rawValue: try row.text("action")) ?? .redrive
            operatorName = try row.text("operator")
            reason = try row.optionalText("reason")
            filter = try JobFilter(json: row.json("filter"))
            change = try row.optionalJSON("change").map(BulkChange.init(json:)) ?? BulkChange()
            cursor = try row.int64("cursor")
            stage = try row.int16("stage")
            last = try row.int64("last_id")
            let done = try row.int64("done")
            room = max(0, (try row.optionalInt64("max_jobs") ?? Int64.max) - done)
        }
    }

    /// Processes `count` jobs in one or more steps; fewer only if there are no more, or if stopped.
    package func steps(
        _ id: Int64, upTo count: Int, until isStopped: () -> Bool = { false }
    ) async throws -> Step {
        var all = try await step(id, atMost: count)
        while !all.isOver, all.ids.count < count, !isStopped() {
            all.add(try await step(id, atMost: count - all.ids.count))
        }
        return all
    }

    /// Processes the next jobs in one transaction; ends the operation if there are no more.
    ///
    /// A cancellation tries jobs once more that were locked, for example by a claim.
    package func step(_ id: Int64, atMost limit: Int) async throws -> Step {
        var step = try await locked(id) { work, session in
            try Self.step(work, Int64(min(limit, Self.chunk)), session)
        }
        let missed = step.locked
        if !missed.isEmpty {
            try await Task.sleep(for: .milliseconds(50))
            step.add(
                try await locked(id) { work, session in try Self.again(work, missed, session) })
        }
        if let redis, !step.left.isEmpty {
            let instance = try await session.query(Statements.instance, []).text(0, 0)
            let window = WindowProbe(redis, instance: instance)
            for (lane, ids) in step.left { try? await window.forget(ids, in: lane) }
        }
        return step
    }

    private func locked(
        _ id: Int64, _ body: @Sendable (Work, isolated Session) throws -> Step
    ) async throws -> Step {
        try await session.transaction { session in
            guard let row = try session.query(Statements.lockOperation, [.int64(id)]).first,
                try row.text("state") == "running"
            else { return Step(isOver: true) }
            return try body(Work(row), session)
        }
    }

    private static func step(
        _ work: Work, _ limit: Int64, _ session: isolated Session
    ) throws -> Step {
        let tables = JobTable.holding(work.filter)
        var step = Step()
        var (stage, cursor) = (Int(work.stage), work.cursor)
        var seen = 0
        if work.room > 0, stage < tables.count {
            let found = try look(
                work, tables[stage], upTo: min(limit, work.room), &cursor, session)
            seen = found.count
            if !found.isEmpty {
                step = try act(work, on: found, in: tables[stage], session)
            }
            if cursor >= work.last { (stage, cursor) = (stage + 1, 0) }
        } else {
            step.isOver = true
        }
        try advance(work, &step, skipped: seen - step.ids.count, (stage, cursor), session)
        return step
    }

    /// Processes jobs that were locked before; those that still are locked remain skipped.
    static func again(
        _ work: Work, _ missed: [Int64], _ session: isolated Session
    ) throws -> Step {
        let tables = JobTable.holding(work.filter)
        var step = Step()
        if let live = tables.first { step = try act(work, on: missed, in: live, session) }
        step.locked = []
        try advance(
            work, &step, skipped: -step.ids.count, (Int(work.stage), work.cursor), session)
        return step
    }

    /// Saves the progress, and ends the operation if it is complete and no job was locked.
    private static func advance(
        _ work: Work, _ step: inout Step, skipped: Int, _ place: (stage: Int, cursor: Int64),
        _ session: isolated Session
    ) throws {
        let done = Int64(step.ids.count)
        _ = try session.query(
            Statements.advanceOperation,
            [
                .int64(work.id), .int64(done), .int64(place.cursor), .int16(Int16(place.stage)),
                .int64(Int64(skipped)), .int64(Int64(step.cancelRequested)),
            ])
        guard step.locked.isEmpty else { return }
        if place.stage >= JobTable.holding(work.filter).count || done >= work.room {
            _ = try session.query(
                Statements.endOperation, [.int64(work.id), .text("done"), .null])
            step.isOver = true
        }
    }

    /// The next jobs in the order of their ids, none created after the operation.
    ///
    /// Reads ranges of ids that double in size, so that PostgreSQL does not sort or read too much,
    /// whether few jobs match the filter or millions.
    private static func look(
        _ work: Work, _ table: JobTable, upTo limit: Int64, _ cursor: inout Int64,
        _ session: isolated Session
    ) throws -> [Int64] {
        let end = ContinuousClock.now + .seconds(1)
        var found: [Int64] = []
        var span = limit * 4
        while found.count < limit, cursor < work.last {
            let to = work.last - cursor > span ? cursor + span : work.last
            let room = limit - Int64(found.count)
            let ids = try session.query(
                page(work.filter, table, after: cursor, to: to, limit: room), prepare: false
            ).map { try $0.int64(0) }
            found += ids
            cursor = ids.count < room ? to : ids.last ?? to
            span = min(span, Int64.max / 4) * 2
            if ContinuousClock.now > end { break }
        }
        return found
    }

    private static func page(
        _ filter: JobFilter, _ table: JobTable, after cursor: Int64, to end: Int64, limit: Int64
    ) throws -> Statement {
        var conditions = JobConditions()
        var clauses = try conditions.clauses(filter, table)
        clauses.append("id > \(conditions.placeholder(.int64(cursor)))")
        clauses.append("id <= \(conditions.placeholder(.int64(end)))")
        let most = conditions.placeholder(.int64(limit))
        return Statement(
            """
            SELECT id FROM \(table.name) WHERE \(JobConditions.joined(clauses))
            ORDER BY id LIMIT \(most)
            """, conditions.parameters)
    }

    // MARK: Actions

    static func act(
        _ work: Work, on found: [Int64], in table: JobTable, _ session: isolated Session
    ) throws -> Step {
        // Skips jobs that are locked. Claims hold locks only briefly, so a cancellation retries.
        let ids = try session.query(Statements.lockJobs(table), [.int64Array(found)])
            .map { try $0.int64(0) }
        var step = Step()
        if work.action == .cancel, ids.count < found.count {
            let ours = Set(ids)
            step.locked = found.filter { !ours.contains($0) }
        }
        guard !ids.isEmpty else { return step }
        let rows = try session.query(statement(work, table, ids))
        step.ids = try rows.map { try $0.int64(0) }
        if work.action == .move { step.left = try JobMove.lanes(rows) }
        // Jobs claimed since they were found only count if the filter includes running jobs.
        let meansRunning = work.filter.states?.contains(.running) ?? true
        if work.action == .cancel, meansRunning, step.ids.count < ids.count {
            let ended = Set(step.ids)
            let asked = try session.query(
                Statements.cancelRunning, [.int64Array(ids.filter { !ended.contains($0) })]
            ).map { try $0.int64(0) }
            step.cancelRequested = asked.count
            step.ids += asked
        }
        return step
    }

    private static func statement(
        _ work: Work, _ table: JobTable, _ ids: [Int64]
    ) -> Statement {
        let jobs = Parameter.int64Array(ids)
        let change = work.change
        switch work.action {
        case .redrive: return Statement(Statements.redrive, [jobs])
        case .delete: return Statement(Statements.discard, [jobs])
        case .retry:
            return switch table {
            case .live: Statement(Statements.retryWaiting, [jobs])
            case .finished: Statement(Statements.retryFinished, [jobs])
            case .dead: Statement(Statements.redrive, [jobs])
            }
        case .runNow: return Statement(Statements.retryWaiting, [jobs])
        case .cancel, .discard, .purge:
            let sql = table == .dead ? Statements.discardDead : Statements.cancelWaiting
            return Statement(sql, [jobs, .text(reason(work))])
        case .reschedule:
            return Statement(Statements.reschedule, [jobs, .timestamp(change.runAt ?? .now())])
        case .move:
            return Statement(
                Statements.move, [jobs, .optional(change.queue), .optional(change.priority)])
        case .edit:
            return Statement(
                Statements.edit,
                [
                    jobs, change.args.map { .json(Array($0.utf8)) } ?? .null,
                    change.tags.map(Parameter.textArray) ?? .null,
                ])
        }
    }

    private static func reason(_ work: Work) -> String {
        let verb =
            switch work.action {
            case .discard: "discarded"
            case .purge: "purged"
            default: "cancelled"
            }
        return Inspector.because(verb, by: work.operatorName, work.reason)
    }
}

/// The jobs that a move has removed, by lane.
enum JobMove {
    static func lanes(_ rows: Rows) throws -> [Lane: [Int64]] {
        var lanes: [Lane: [Int64]] = [:]
        for row in rows {
            let lane = Lane(
                queue: try row.text("was"), kind: try row.text("kind"),
                version: Int(try row.int16("args_version")))
            lanes[lane, default: []].append(try row.int64("id"))
        }
        return lanes
    }
}
