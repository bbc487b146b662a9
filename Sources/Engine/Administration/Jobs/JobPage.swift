import Errand
import ErrandPostgres

/// One page of a listing of jobs.
package struct JobPage: Sendable {
    package var jobs: [JobRecord] = []
    /// How many jobs were looked at to find these.
    package var looked = 0
    /// The last id that was looked at, where the look ended early: neither was the page full nor
    /// was there nothing left.
    ///
    /// The next page goes on behind it.
    package var stoppedAt: Int64?
}

extension Inspector {
    /// How long a listing looks for jobs, unless it is to look through everything.
    package static let patience = Duration.milliseconds(100)

    /// One page of the jobs that pass a filter, the newest first unless it says otherwise.
    ///
    /// - Parameter patience: after about this time it ends with what it has found, and says where;
    ///   nil looks through everything.
    package func page(
        _ filter: JobFilter, patience: Duration? = patience
    ) async throws -> JobPage {
        let reveals = reveals
        return try await session.transaction { session in
            // In one picture of the tables no job is seen twice, or missed, while it ends.
            _ = try session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return try JobLook(filter, patience).page(reveals: reveals, session)
        }
    }
}

/// Looks through live and finished jobs in the order of their ids, some rows at a time.
struct JobLook {
    /// One table, and how far it has been looked through.
    private struct Place {
        var table: JobTable
        var after: Int64?
        var before: Int64?
        /// The only ones that can pass, in order; nil where all have to be looked at.
        var candidates: ArraySlice<Int64>?
        /// The last id that was looked at.
        var reached: Int64?
        var isOver = false
        /// Those that pass and are not on the page yet, in order.
        var found: ArraySlice<Int64> = []
    }

    private let filter: JobFilter
    private let patience: Duration?
    private var places: [Place] = []
    private var ids: [(id: Int64, table: JobTable)] = []
    private var looked = 0
    private var rows: Int

    /// More are not read to know them all beforehand.
    private static let mostCandidates = 5_000
    /// Jobs may be made so much out of the order of their ids.
    private static let margin: Int64 = 10_000
    /// What is found may take as much longer.
    private static let each = Duration.microseconds(20)

    init(_ filter: JobFilter, _ patience: Duration?) {
        self.filter = filter
        self.patience = patience
        rows = min(max(200, filter.limit * 2), 20_000)
    }

    consuming func page(reveals: Bool, _ session: isolated Session) throws -> JobPage {
        let end = patience.map { ContinuousClock.now + $0 }
        // Where no row is looked at, nobody would say that it is no regular expression.
        if let pattern = filter.error.flatMap(JobConditions.pattern) {
            _ = try session.query("SELECT '' ~ $1", [.text(pattern)])
        }
        for table in JobTable.holding(filter) { places.append(try place(table, session)) }
        var page = JobPage()
        while ids.count < filter.limit, let next = slowest {
            // Where many pass, what they take is no waste of time.
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

    /// The table that is furthest behind; nil when all are done.
    private var slowest: Int? {
        places.indices.filter { !places[$0].isOver }.min { one, other in
            guard let other = places[other].reached else { return false }
            return places[one].reached.map { comes($0, before: other) } ?? true
        }
    }

    /// Puts on the page what is certain to come next: all tables were looked through so far.
    private mutating func take() {
        let reach = slowest.map { places[$0].reached }
        // One of them was not looked at.
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

    /// Looks at the next rows of one table; returns how many there were.
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

    /// As many rows at a time as a fifth of the patience, or what is left of it, has room for.
    private mutating func adapt(to taken: Duration, _ seen: Int, left: Duration?) {
        let aim = patience.map { min($0 / 5, max(left ?? $0, .zero)) } ?? .milliseconds(250)
        let fit = Double(max(seen, 1)) * (aim / max(taken, .microseconds(10)))
        // Not too many: what one look takes may differ much from the one before.
        rows = Int(min(max(fit, 500), Double(rows * 5), patience == nil ? 100_000 : 10_000))
    }

    // MARK: Where to look

    private func place(_ table: JobTable, _ session: isolated Session) throws -> Place {
        var place = Place(table: table, after: filter.after, before: filter.before)
        if let candidates = try candidates(table, session) {
            place.candidates = candidates[...]
            place.isOver = candidates.isEmpty
        } else if patience != nil, filter.key == nil {
            try narrow(&place, session)
        }
        return place
    }

    /// The only ones that can pass, in order; nil when they are too many.
    private func candidates(
        _ table: JobTable, _ session: isolated Session
    ) throws -> [Int64]? {
        let limit = Self.mostCandidates
        // Only what looks at everything finds a claim that stands where none should.
        guard patience != nil,
            let statement = JobConditions.candidates(filter, table, limit: limit)
        else { return nil }
        let ids = try session.query(statement).map { try $0.int64(0) }
        guard ids.count < limit || statement.sql == Statements.claimed else { return nil }
        return ids.filter { id in
            filter.before.map { id < $0 } ?? true && filter.after.map { id > $0 } ?? true
        }.sorted { comes($0, before: $1) }
    }

    /// Leaves out ids at whose time no job was made that can pass: nothing ends before it is made.
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
