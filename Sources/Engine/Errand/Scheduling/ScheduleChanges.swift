package import ErrandPostgres

/// What operators add and change by hand.
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

    /// Adds a schedule; of several that do so at once, one does.
    ///
    /// - Parameters:
    ///   - settings: a JSON object, by the names of the columns.
    ///   - note: why it starts paused; nil when it does not.
    /// - Returns: false when there is one of that name.
    /// - Throws: ``JobError/invalid(_:)`` for an expression or zone that cannot be read.
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
    /// - Parameter settings: what to change, as a JSON object, given what there is.
    /// - Returns: nil when there is no schedule of that name. When all is so already, nothing is
    ///   written, and both sides are the same.
    /// - Throws: ``JobError/invalid(_:)`` for an expression or zone that cannot be read.
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

    /// The names of all schedules, ascending.
    package func names() async throws -> [String] {
        try await session.query(Statements.scheduleNames, []).map { try $0.text(0) }
    }

    /// What time it is for the schedules, in a database that has their table.
    package func now() async throws -> Instant {
        try await session.query(
            "SELECT clock_timestamp(), EXISTS (SELECT FROM errand.schedules)", []
        ).timestamp(0, 0)
    }
}
