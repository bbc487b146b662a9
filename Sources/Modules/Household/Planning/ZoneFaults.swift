import Errand
import ErrandPostgres
import ErrandRecurrence

/// Time zones whose rules a worker cannot read: what needs them waits, and the rest goes on.
enum ZoneFaults {
    private static let fail = "SELECT household.fail_zone($1, $2, $3)"

    /// Writes a fault down for operators, and says it once.
    static func note(
        _ fault: ZoneError, of zone: String, now: Instant, in transaction: Transaction, log: Log
    ) async throws {
        let isNew = try await transaction.query(
            fail, [.text(zone), .text("\(fault)"), .timestamp(now)]
        ).first?.bool(0)
        guard isNew == true else { return }
        log.with("zone", zone).with("fault", fault)
            .error("a time zone cannot be used: chores of its groups do not come until it can")
    }
}
