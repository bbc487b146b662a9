package import ErrandPostgres

/// What of the households an operator should look at.
package struct HouseholdHealth: Sendable {
    /// A time zone whose rules no worker could read.
    package struct BadZone: Sendable {
        package var name: String
        package var fault: String
        package var groups: Int
    }

    package var groups: Int
    package var badZones: [BadZone]
    /// Chores that do not come any more until somebody changes them.
    package var faultyChores: Int

    private static let zones = """
        SELECT z.time_zone, z.fault, count(*) AS groups
        FROM household.zones z JOIN household.groups g ON g.time_zone = z.time_zone
        WHERE z.fault IS NOT NULL GROUP BY z.time_zone, z.fault ORDER BY z.time_zone
        """
    private static let counts = """
        SELECT (SELECT count(*) FROM household.groups) AS groups,
            (SELECT count(*) FROM household.chores c
                WHERE c.fault IS NOT NULL AND NOT c.is_removed) AS faulty
        """

    package static func read(_ session: Session) async throws -> HouseholdHealth {
        let rows = try await session.pipeline([Statement(zones), Statement(counts)])
        guard let counts = rows[1].first else {
            return HouseholdHealth(groups: 0, badZones: [], faultyChores: 0)
        }
        return HouseholdHealth(
            groups: Int(try counts.int64("groups")),
            badZones: try rows[0].map { row in
                BadZone(
                    name: try row.text("time_zone"), fault: try row.text("fault"),
                    groups: Int(try row.int64("groups")))
            }, faultyChores: Int(try counts.int64("faulty")))
    }
}
