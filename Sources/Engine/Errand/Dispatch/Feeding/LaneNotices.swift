import ErrandPostgres

/// The choice between notices and polling for each lane.
///
/// A notice has a cost: PostgreSQL commits transactions that notify one after the other, each with
/// a flush to disk. While jobs arrive one by one, the cost does not matter and a notice is fastest.
/// When they arrive fast, the feeder polls every few milliseconds, and lists the lane in
/// `errand.polled_lanes`, so that `errand.wake()` does not notify.
struct LaneNotices: Sendable {
    /// The lanes without notices.
    private var polled: Set<Lane> = []
    /// The lanes that have notices again, until all transactions have ended that may not know it;
    /// they have ended when all before this one have.
    private var leaving: [Lane: UInt64] = [:]
    /// The number of rounds between two calls of `settle` above which a lane is polled; with half
    /// as many jobs it has notices again.
    private let limit: Int
    /// The rounds requested for a lane, and the jobs found in it, since the last `settle`.
    private var rounds: [Lane: Int] = [:]
    private var found: [Lane: Int] = [:]
    /// The jobs that notices named and that were staged unread, since the last `settle`.
    private var unreadCounts: [Lane: Int] = [:]

    /// The poll interval of lanes without notices, and of those that have just got notices again.
    static let interval = Duration.milliseconds(5)
    static let leavingInterval = Duration.milliseconds(50)
    /// The end of a lane that no reading has shown since it has notices again.
    private static let unknown = UInt64.max

    init(limit: Int) { self.limit = limit }

    /// Returns whether the feeder must look for jobs of the lane.
    func isPolled(_ lane: Lane) -> Bool { polled.contains(lane) || leaving[lane] != nil }

    /// The lanes to poll.
    var lanes: Set<Lane> { polled.union(leaving.keys) }

    /// The time until the next poll of these lanes, all of which have room in their windows; nil
    /// without such lanes.
    func interval(of open: Set<Lane>) -> Duration? {
        guard !open.isEmpty else { return nil }
        return polled.isDisjoint(with: open) ? Self.leavingInterval : Self.interval
    }

    /// Gives all lanes notices, at the start of a feeder.
    mutating func reset(on session: Session) async throws {
        for row in try await session.query(Statements.pollNothing, []) {
            if let lane = Lane(name: try row.text(0)) { leaving[lane] = Self.unknown }
        }
    }

    /// Returns how many of some named jobs may be staged unread, and counts them.
    mutating func unread(_ count: Int, in lane: Lane) -> Int {
        let most = min(count, max(limit - unreadCounts[lane, default: 0], 0))
        unreadCounts[lane, default: 0] += most
        return most
    }

    /// Counts a round of known lanes, and stops the notices of those that had too many.
    mutating func count(_ lanes: Set<Lane>, on session: Session) async throws {
        for lane in lanes { rounds[lane, default: 0] += 1 }
        let busy = lanes.filter {
            !polled.contains($0) && rounds[$0, default: 0] > limit
        }
        guard !busy.isEmpty else { return }
        _ = try await session.query(Statements.pollLanes, [.textArray(busy.map(\.name))])
        polled.formUnion(busy)
        for lane in busy { leaving[lane] = nil }
    }

    /// Counts jobs that were read.
    mutating func read(_ count: Int, in lane: Lane) {
        if count > 0 { found[lane, default: 0] += count }
    }

    /// Records the snapshot of a reading of the polled lanes.
    mutating func read(_ snapshot: Snapshot) {
        guard !leaving.isEmpty else { return }
        leaving = leaving.compactMapValues { end in
            if end == Self.unknown { return snapshot.xmax }
            return snapshot.xmin >= end ? nil : end
        }
    }

    /// Gives the lanes notices in which few jobs were found; called every second.
    ///
    /// - Parameter behind: the lanes whose windows are full, which are read when there is room.
    mutating func settle(behind: Set<Lane>, on session: Session) async throws {
        defer {
            rounds = [:]
            found = [:]
            unreadCounts = [:]
        }
        let quiet = polled.filter {
            !behind.contains($0) && found[$0, default: 0] <= limit / 2
        }
        guard !quiet.isEmpty else { return }
        _ = try await session.query(Statements.notifyOfLanes, [.textArray(quiet.map(\.name))])
        polled.subtract(quiet)
        for lane in quiet { leaving[lane] = Self.unknown }
    }

    /// Forgets what was counted of a lane.
    mutating func forget(_ lane: Lane) {
        leaving[lane] = nil
        rounds[lane] = nil
        found[lane] = nil
        unreadCounts[lane] = nil
    }
}
