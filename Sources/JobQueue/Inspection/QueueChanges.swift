import Postgres

extension Inspector {
    /// Where the emptying of a queue has come to.
    package struct PurgePlace: Sendable {
        var queue: String
        /// Newer jobs stay.
        var last: Int64
        var kind = ""
        var version: Int16 = 0
        var priority: Int16 = 0
        var runAt = Instant.negativeInfinity
        var id: Int64 = 0
        package var purged = 0
        package var isOver = false
    }

    private static let purgePage: Int64 = 2_000

    /// How much a queue still holds that is due or runs, counted up to `limit`.
    package func dueCount(in queue: String, upTo limit: Int = 100_000) async throws -> Int {
        Int(
            try await session.query(Statements.dueInQueue, [.text(queue), .int64(Int64(limit))])
                .int64(0, 0))
    }

    /// Begins to empty a queue of all that waits in it now.
    package func beginPurge(of queue: String) async throws -> PurgePlace {
        PurgePlace(
            queue: queue, last: try await session.query(Statements.lastJob, []).int64(0, 0))
    }

    /// Ends the next chunk of waiting jobs, as cancelled.
    package func purge(_ place: inout PurgePlace, by operatorName: String) async throws {
        let rows = try await session.query(
            Statements.purgePage,
            [
                .text(place.queue), .int64(place.last), .text(place.kind),
                .int16(place.version), .int16(place.priority), .timestamp(place.runAt),
                .int64(place.id), .int64(Self.purgePage),
            ])
        guard rows.count > 0 else {
            place.isOver = true
            return
        }
        let ids = try rows.map { try $0.int64("id") }
        let ended = try await session.query(
            Statements.cancelWaiting,
            [.int64Array(ids.sorted()), .text("purged by \(operatorName)")])
        place.purged += ended.count
        let end = rows.count - 1
        place.id = try rows.int64(end, 0)
        place.kind = try rows.text(end, 1)
        place.version = try rows.int16(end, 2)
        place.priority = try rows.int16(end, 3)
        place.runAt = try rows.timestamp(end, 4)
    }
}
