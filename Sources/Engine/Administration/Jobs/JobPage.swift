import Errand
import ErrandPostgres

/// One page of a listing of jobs.
package struct JobPage: Sendable {
    package var jobs: [JobRecord] = []
    /// The number of jobs searched.
    package var looked = 0
    /// The last id searched, if the search stopped early; nil if the page is full or complete.
    ///
    /// The next page continues after it.
    package var stoppedAt: Int64?
}

extension Inspector {
    /// The default time limit of a search for jobs.
    package static let timeout = Duration.milliseconds(100)

    /// One page of the jobs that match a filter, the newest first unless it sorts otherwise.
    ///
    /// - Parameter timeout: the approximate time after which the search stops early; nil searches
    ///   everything.
    package func page(
        _ filter: JobFilter, timeout: Duration? = timeout
    ) async throws -> JobPage {
        let reveals = reveals
        return try await session.transaction { session in
            // In one snapshot, a job that finishes meanwhile is neither duplicated nor missed.
            _ = try session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return try JobScan(filter, timeout).page(reveals: reveals, session)
        }
    }
}

/// Searches live and finished jobs in the order of their ids, in batches of rows.
struct JobScan {
    /// One table, and the progress of its search.
    private struct Place {
        var table: JobTable
        var after: Int64?
        var before: Int64?
        /// The only ids that can match, in order; nil if all rows must be searched.
        var candidates: ArraySlice<Int64>?
        /// The last id searched.
        var reached: Int64?
        var isOver = false
        /// The matching ids that are not on the page yet, in order.
        var found: ArraySlice<Int64> = []
    }

    private let filter: JobFilter
    private let timeout: Duration?
    private var places: [Place] = []
    private var ids: [(id: Int64, table: JobTable)] = []
    private var looked = 0
    private var rows: Int

    /// The maximum number of candidates to read in advance.
    private static let mostCandidates = 5_000
    /// How far the order of ids may differ from the order of creation.
    private static let margin: Int64 = 10_000
    /// The additional time per matching job.
    private static let each = Duration.microseconds(20)

    init(_ filter: JobFilter, _ timeout: Duration?) {
        self.filter = filter
        self.timeout = timeout
        rows = min(max(200, filter.limit * 2), 20_000)
    }

    consuming func page(reveals: Bool, _ session: isolated Session) throws -> JobPage {
        let end = timeout.map { ContinuousClock.now + $0 }
        // Checks the regular expression, even if no row is searched.
        if let pattern = filter.error.flatMap(JobConditions.pattern) {
            _ = try session.query("SELECT '' ~ $1", [.text(pattern)])
        }
        for table in JobTable.holding(filter) { places.append(try place(table, session)) }
        var page = JobPage()
        while ids.count < filter.limit, let next = slowest {
            // Matching jobs extend the time limit.
            if let end, .now >= end + Self.each * ids.count, let reached = places[next].reached {
                page.stoppedAt = reached
                break
            }
            let start = ContinuousClock.now
            let seen = try look(next, session)
            adapt(to: .now - start, seen, left: end.map { $0 - .now })
            take()
        }
        page.looked = looked
        let shown = ids.prefix(filter.limit)
        for table in JobTable.holding(filter) {
            let wanted = shown.filter { $0.table == table }.map(\.id)
            guard !wanted.isEmpty else { continue }
            page.jobs += try session.query(Statements.jobs(in: table), [.int64Array(wanted)]).map {
                try JobRecord($0, reveals: reveals)
            }
        }
        page.jobs.sort { comes($0.id, before: $1.id) }
        return page
    }

    private func comes(_ id: Int64, before other: Int64) -> Bool {
        filter.isOldestFirst ? id < other : id > other
    }

    /// The table whose search is furthest behind; nil if all are done.
    private var slowest: Int? {
        places.indices.filter { !places[$0].isOver }.min { one, other in
            guard let other = places[other].reached else { return false }
            return places[one].reached.map { comes($0, before: other) } ?? true
        }
    }

    /// Adds the ids to the page that all tables have been searched up to.
    private mutating func take() {
        let reach = slowest.map { places[$0].reached }
        // One of the tables has not been searched yet.
        if let reach, reach == nil { return }
        var next: [(id: Int64, table: JobTable)] = []
        for index in places.indices {
            let ready = places[index].found.prefix { id in
                reach.flatMap(\.self).map { !comes($0, before: id) } ?? true
            }
            places[index].found = places[index].found.dropFirst(ready.count)
            next += ready.map { ($0, places[index].table) }
        }
        ids += next.sorted { comes($0.id, before: $1.id) }
    }

    /// Searches the next rows of one table; returns their number.
    private mutating func look(_ index: Int, _ session: isolated Session) throws -> Int {
        var place = places[index]
        let known = place.candidates.map { $0.prefix(rows) }
        let window = JobWindow(
            table: place.table,
            after: filter.isOldestFirst ? place.reached ?? place.after : place.after,
            before: filter.isOldestFirst ? place.before : place.reached ?? place.before,
            candidates: known.map(Array.init), rows: rows, isOldestFirst: filter.isOldestFirst)
        let row = try session.query(window.statement(filter), prepare: false)[0]
        let seen = Int(try row.int64("looked"))
        place.found += try row.int64Array("ids").sorted { comes($0, before: $1) }
        if let known {
            place.candidates = place.candidates?.dropFirst(known.count)
            place.reached = known.last ?? place.reached
            place.isOver = place.candidates?.isEmpty ?? true
        } else {
            place.reached = try row.optionalInt64("reached") ?? place.reached
            place.isOver = seen < rows
        }
        places[index] = place
        looked += seen
        return seen
    }

    /// Adapts the batch size to a fifth of the timeout, or to the time left.
    private mutating func adapt(to taken: Duration, _ seen: Int, left: Duration?) {
        let aim = timeout.map { min($0 / 5, max(left ?? $0, .zero)) } ?? .milliseconds(250)
        let fit = Double(max(seen, 1)) * (aim / max(taken, .microseconds(10)))
        // Limited, because the durations of batches vary.
        rows = Int(min(max(fit, 500), Double(rows * 5), timeout == nil ? 100_000 : 10_000))
    }

    // MARK: Ranges of ids

    private func place(_ table: JobTable, _ session: isolated Session) throws -> Place {
        var place = Place(table: table, after: filter.after, before: filter.before)
        if let candidates = try candidates(table, session) {
            place.candidates = candidates[...]
            place.isOver = candidates.isEmpty
        } else if timeout != nil, filter.key == nil {
            try narrow(&place, session)
        }
        return place
    }

    /// The only ids that can match, in order; nil if there are too many.
    private func candidates(
        _ table: JobTable, _ session: isolated Session
    ) throws -> [Int64]? {
        let limit = Self.mostCandidates
        // Only a full search finds claims outside of the heads of lanes.
        guard timeout != nil,
            let statement = JobConditions.candidates(filter, table, limit: limit)
        else { return nil }
        let ids = try session.query(statement).map { try $0.int64(0) }
        guard ids.count < limit || statement.sql == Statements.claimed else { return nil }
        return ids.filter { id in
            filter.before.map { id < $0 } ?? true && filter.after.map { id > $0 } ?? true
        }.sorted { comes($0, before: $1) }
    }

    /// Narrows the range of ids by the ages of the filter.
    private func narrow(_ place: inout Place, _ session: isolated Session) throws {
        if let newer = filter.newerMs, place.table == .live {
            let first = try firstID(place.table, any: true, newer, session)
            let (last, isBeyond) = first.subtractingReportingOverflow(Self.margin)
            if !isBeyond { place.after = max(place.after ?? last, last) }
        }
        if let older = filter.olderMs {
            let first = try firstID(place.table, any: false, older, session)
            let (last, isBeyond) = first.addingReportingOverflow(Self.margin)
            if !isBeyond { place.before = min(place.before ?? last, last) }
        }
    }

    private func firstID(
        _ table: JobTable, any: Bool, _ milliseconds: Int64, _ session: isolated Session
    ) throws -> Int64 {
        let found = try session.query(
            Statements.firstID(in: table, any: any), [.double(Double(milliseconds) / 1000)])
        return try found.first?.optionalInt64(0) ?? 0
    }
}
