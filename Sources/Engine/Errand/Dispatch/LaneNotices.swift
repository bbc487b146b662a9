import ErrandPostgres

/// Of which lanes the feeder wants to be told by those who enqueue in SQL, and which it looks at
/// by itself.
///
/// A notice costs whoever commits it: PostgreSQL lets transactions that notify commit one after
/// the other, each with a flush of the disk. While jobs come one by one that does not matter, and
/// nothing is quicker. Where they come fast, the feeder looks every few milliseconds and lets
/// `errand.wake()` know, by the lane's advisory lock, that nobody needs to tell it.
struct LaneNotices: Sendable {
    /// Lanes whose lock is held.
    private var told: Set<Lane> = []
    /// Since the last settling: rounds for which a lane was asked, and jobs found in it.
    private var rounds: [Lane: Int] = [:]
    private var found: [Lane: Int] = [:]

    /// Looking so often finds what nobody told of.
    static let lookInterval = Duration.milliseconds(5)
    /// So many rounds for a lane, between two settlings, are too many.
    private static let roundLimit = 50
    /// A lane in which so few jobs come between two settlings is told of again.
    private static let quietLimit = 50

    /// Counts a round, and lets go of lanes that were told of too often.
    mutating func heard(_ lanes: Set<Lane>, on session: Session) async throws {
        for lane in lanes { rounds[lane, default: 0] += 1 }
        let busy = lanes.filter { told.contains($0) && rounds[$0, default: 0] > Self.roundLimit }
        try await dismiss(busy, on: session)
    }

    /// Counts jobs that were read.
    mutating func read(_ count: Int, in lane: Lane) { found[lane, default: 0] += count }

    /// Decides for each lane anew, every second.
    ///
    /// All lanes must be read afterwards: what was enqueued before the lock was taken, nobody has
    /// told of.
    ///
    /// - Parameters:
    ///   - lanes: those that live workers can run.
    ///   - behind: of these, those whose windows are full: they are read on when there is room.
    mutating func settle(_ lanes: Set<Lane>, behind: Set<Lane>, on session: Session) async throws {
        let quiet = lanes.filter { lane in
            !behind.contains(lane)
                && (told.contains(lane)
                    ? rounds[lane, default: 0] <= Self.roundLimit
                    : found[lane, default: 0] <= Self.quietLimit)
        }
        rounds = [:]
        found = [:]
        try await dismiss(told.subtracting(quiet), on: session)
        let wanted = Array(quiet.subtracting(told))
        guard !wanted.isEmpty else { return }
        // Those whose lock somebody looks at just now are tried again the next time.
        let rows = try await session.query(Statements.wantNotices, [.textArray(wanted.map(\.name))])
        for row in 0..<rows.count where try rows.bool(row, 1) {
            told.insert(wanted[Int(try rows.int64(row, 0)) - 1])
        }
    }

    /// The lanes to look at without being told.
    func unannounced(of lanes: some Sequence<Lane>) -> Set<Lane> {
        Set(lanes).subtracting(told)
    }

    private mutating func dismiss(_ lanes: Set<Lane>, on session: Session) async throws {
        guard !lanes.isEmpty else { return }
        _ = try await session.query(Statements.refuseNotices, [.textArray(lanes.map(\.name))])
        told.subtract(lanes)
    }
}
