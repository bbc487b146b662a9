package import ErrandPostgres

/// Additions and changes by operators.
extension Schedules {
    /// A schedule before and after a change.
    package struct Change: Sendable {
        package var before: Listing
        package var after: Listing
    }

    private struct NameTaken: Error {}

    private struct Unchanged: Error {
        var listing: Listing
    }

    /// Adds a schedule.
    ///
    /// Of several concurrent calls, one succeeds.
    ///
    /// - Parameters:
    ///   - settings: a JSON object with the names of the columns.
    ///   - note: why the schedule starts paused; nil if it does not.
    /// - Returns: false if a schedule of that name exists.
    /// - Throws: ``JobError/invalid(_:)`` for an invalid expression or zone.
    package func add(
        _ name: String, settings: [UInt8], pausedWith note: String? = nil,
        by operatorName: String, reason: String? = nil
    ) async throws -> Bool {
        do {
            try await session.transaction { session in
                guard
                    try put(name, settings: settings, args: nil, by: operatorName, session)
                else { throw NameTaken() }
                try Self.note(
                    "add", name, by: operatorName, reason: reason ?? note, change: settings,
                    session)
                guard let note else { return }
                _ = try session.query(
                    Statements.pauseSchedule, [.text(name), .text(operatorName), .text(note)])
            }
            return true
        } catch is NameTaken {
            return false
        }
    }

    /// Changes settings of a schedule.
    ///
    /// - Parameter settings: returns the changes, as a JSON object, from the current schedule.
    /// - Returns: nil if there is no schedule of that name. If nothing changes, nothing is written
    ///   and both sides are equal.
    /// - Throws: ``JobError/invalid(_:)`` for an invalid expression or zone.
    package func change(
        _ name: String, by operatorName: String, reason: String? = nil,
        _ settings: @Sendable (Listing) throws -> [UInt8]
    ) async throws -> Change? {
        do {
            return try await session.transaction { session in
                guard try !session.query(Statements.lockSchedule, [.text(name)]).isEmpty else {
                    return nil
                }
                let before = try Listing(
                    try session.query(Statements.schedules, [.text(name)])[0])
                let asked = try settings(before)
                _ = try put(name, settings: asked, args: nil, by: operatorName, session)
                let after = try Listing(
                    try session.query(Statements.schedules, [.text(name)])[0])
                guard after.settings != before.settings else { throw Unchanged(listing: before) }
                let change =
                    Array("{\"before\":".utf8) + before.settings + Array(",\"after\":".utf8)
                    + after.settings + Array("}".utf8)
                try Self.note(
                    "edit", name, by: operatorName, reason: reason, change: change, session)
                return Change(before: before, after: after)
            }
        } catch let error as Unchanged {
            return Change(before: error.listing, after: error.listing)
        }
    }

    /// Returns the names of all schedules, ascending.
    package func names() async throws -> [String] {
        try await session.query(Statements.scheduleNames, []).map { try $0.text(0) }
    }

    /// Returns the current time for the schedules, in a database that has their table.
    package func now() async throws -> Instant {
        try await session.query(
            "SELECT clock_timestamp(), EXISTS (SELECT FROM errand.schedules)", []
        ).timestamp(0, 0)
    }
}
