import ErrandPostgres

/// The choice between notices and polling for each lane.
///
/// A notice has a cost: PostgreSQL commits transactions that notify one after the other, each with
/// a flush to disk. While jobs arrive one by one, the cost does not matter and a notice is fastest.
/// When they arrive fast, the feeder polls every few milliseconds. It then releases the lane's
/// advisory lock, by which `errand.wake()` knows that no notice is needed.
struct LaneNotices: Sendable {
    /// The lanes with notices, whose locks are held.
    private var announced: Set<Lane> = []
    /// The rounds requested for a lane, and the jobs found in it, since the last `settle`.
    private var rounds: [Lane: Int] = [:]
    private var found: [Lane: Int] = [:]

    /// The poll interval of lanes without notices.
    static let lookInterval = Duration.milliseconds(5)
    /// The number of rounds between two calls of `settle` above which a lane is polled.
    private static let roundLimit = 50
    /// The number of jobs between two calls of `settle` below which a lane has notices again.
    private static let quietLimit = 50

    /// Counts a round, and stops the notices of lanes that had too many.
    mutating func count(_ lanes: Set<Lane>, on session: Session) async throws {
        for lane in lanes { rounds[lane, default: 0] += 1 }
        let busy = lanes.filter {
            announced.contains($0) && rounds[$0, default: 0] > Self.roundLimit
        }
        try await dismiss(busy, on: session)
    }

    /// Counts jobs that were read.
    mutating func read(_ count: Int, in lane: Lane) { found[lane, default: 0] += count }

    /// Chooses notices or polling for each lane, every second.
    ///
    /// The caller must read all lanes afterwards: jobs that were enqueued before the lock was
    /// acquired had no notice.
    ///
    /// - Parameters:
    ///   - lanes: the lanes that live workers can run.
    ///   - behind: those of them whose windows are full, which are read when there is room.
    mutating func settle(_ lanes: Set<Lane>, behind: Set<Lane>, on session: Session) async throws {
        let quiet = lanes.filter { lane in
            !behind.contains(lane)
                && (announced.contains(lane)
                    ? rounds[lane, default: 0] <= Self.roundLimit
                    : found[lane, default: 0] <= Self.quietLimit)
        }
        rounds = [:]
        found = [:]
        try await dismiss(announced.subtracting(quiet), on: session)
        let wanted = Array(quiet.subtracting(announced))
        guard !wanted.isEmpty else { return }
        // Locks that a transaction is testing at this moment are acquired the next time.
        let rows = try await session.query(Statements.wantNotices, [.textArray(wanted.map(\.name))])
        for row in 0..<rows.count where try rows.bool(row, 1) {
            announced.insert(wanted[Int(try rows.int64(row, 0)) - 1])
        }
    }

    /// Returns the lanes to poll.
    func unannounced(of lanes: some Sequence<Lane>) -> Set<Lane> {
        Set(lanes).subtracting(announced)
    }

    private mutating func dismiss(_ lanes: Set<Lane>, on session: Session) async throws {
        guard !lanes.isEmpty else { return }
        _ = try await session.query(Statements.refuseNotices, [.textArray(lanes.map(\.name))])
        announced.subtract(lanes)
    }
}
