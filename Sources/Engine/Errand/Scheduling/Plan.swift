package import ErrandPostgres
package import ErrandRecurrence

/// The times of one schedule, with its start, end and jitter.
package struct Plan: Sendable {
    /// An occurrence: its due time by the calendar, and the creation time of its job.
    package struct Due: Sendable, Hashable {
        package var due: Instant
        package var at: Instant
    }

    private let id: Int64
    /// The times without regard to start, end and jitter.
    package let timetable: Timetable
    /// The earliest occurrence, in seconds since 1970.
    package let starts: Int?
    /// The time from which there are no occurrences.
    package let ends: Instant?
    private let jitter: Int64

    /// - Throws: ``JobError/invalid(_:)`` if the expression or the zone is invalid here.
    package init(_ schedule: StoredSchedule, zones: ZoneDatabase) throws(JobError) {
        try self.init(
            id: schedule.id, recurrence: schedule.recurrence, zone: schedule.zone,
            gap: schedule.gap, repeats: schedule.repeats, starts: schedule.startsAt,
            ends: schedule.endsAt, jitter: schedule.jitter, zones: zones)
    }

    package init(
        id: Int64, recurrence: String, zone: String, gap: GapRule?, repeats: RepeatRule?,
        starts: Instant?, ends: Instant?, jitter: Duration, zones: ZoneDatabase
    ) throws(JobError) {
        self.id = id
        // An interval counts from the first whole second of the start.
        self.starts = starts?.secondRoundedUp
        self.ends = ends
        self.jitter = jitter.milliseconds
        timetable = try Self.timetable(
            recurrence, zone, gap, repeats, anchor: self.starts ?? 0, zones)
    }

    private static func timetable(
        _ text: String, _ zone: String, _ gap: GapRule?, _ repeats: RepeatRule?, anchor: Int,
        _ zones: ZoneDatabase
    ) throws(JobError) -> Timetable {
        let recurrence: Recurrence
        do throws(RecurrenceError) { recurrence = try Recurrence(text) } catch {
            throw .invalid("schedule \"\(text)\": \(error)")
        }
        let place: Zone
        do throws(ZoneError) { place = try zones.zone(named: zone) } catch {
            throw .invalid("\(error)")
        }
        return Timetable(recurrence, in: place, gap: gap, repeats: repeats, anchor: anchor)
    }

    /// Returns the first occurrence after a time; nil if there is none before the end.
    package func next(after moment: Instant) -> Due? {
        let second = max(moment.secondRoundedDown, (starts ?? .min / 2) - 1)
        guard let found = timetable.next(after: second) else { return nil }
        return due(at: found.at)
    }

    /// Returns the last occurrence before a time; nil if there is none since the start.
    package func previous(before moment: Instant) -> Due? {
        let second = min(moment, ends ?? .infinity).secondRoundedUp
        guard let found = timetable.previous(before: second), found.at >= starts ?? .min else {
            return nil
        }
        return due(at: found.at)
    }

    /// Returns the first occurrence whose job is created after a time.
    ///
    /// With jitter, it may have been due before.
    func firstMade(after moment: Instant) -> Due? {
        if let last = previous(before: moment.adding(.microseconds(1))), last.at > moment {
            return last
        }
        return next(after: moment)
    }

    /// Returns whether an occurrence is due at exactly this time.
    func contains(_ due: Instant) -> Bool {
        next(after: due.adding(.seconds(-1)))?.due == due
    }

    private func due(at second: Int) -> Due? {
        let due = Instant(unixSeconds: second)
        return due < ends ?? .infinity ? timed(due) : nil
    }

    /// Returns an occurrence with the creation time of its job.
    func timed(_ due: Instant) -> Due {
        guard jitter > 0 else { return Due(due: due, at: due) }
        let second = due.secondRoundedDown
        // The delay must not exceed the time until the next occurrence.
        let room = timetable.next(after: second).map { Int64($0.at - second) * 1000 } ?? jitter
        let late = Self.share(id, second) % UInt64(min(jitter, room))
        return Due(due: due, at: due.adding(.milliseconds(Int64(late))))
    }

    /// Returns an evenly distributed hash of an occurrence: SplitMix64 (Steele, Lea, Flood 2014)
    /// over both numbers.
    private static func share(_ id: Int64, _ second: Int) -> UInt64 {
        var mixed =
            UInt64(bitPattern: Int64(second)) &+ UInt64(bitPattern: id) &* 0x9e37_79b9_7f4a_7c15
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension Instant {
    private static let unixEpochInSeconds = 946_684_800

    /// Creates the instant of a whole second since 1970.
    package init(unixSeconds: Int) {
        self.init(microseconds: Int64(unixSeconds - Self.unixEpochInSeconds) * 1_000_000)
    }

    /// Seconds since 1970, rounded towards the past.
    package var secondRoundedDown: Int {
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Int(rest < 0 ? whole - 1 : whole) + Self.unixEpochInSeconds
    }

    /// Seconds since 1970, rounded towards the future.
    package var secondRoundedUp: Int {
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Int(rest > 0 ? whole + 1 : whole) + Self.unixEpochInSeconds
    }
}
