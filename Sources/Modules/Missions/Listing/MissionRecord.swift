package import ErrandPostgres

/// Where a mission stands.
package enum MissionState: String, Sendable, CaseIterable {
    case open, cancelled, over
}

/// A mission as operators see it.
package struct MissionRecord: Sendable {
    package var id: Int64
    package var title: String
    package var state: MissionState
    package var establishment: Int64
    package var branch: Int64
    package var branchName: String
    package var opensAt: Instant
    package var closesAt: Instant
    package var timeZone: String
    package var slots: Int
    /// Slots that somebody holds, or was paid for.
    package var filled: Int
    /// In minor units: what the establishment pays, and the shopper's part.
    package var paid: Int64
    package var pay: Int64
    package var currency: String
    package var freebies: String?
    /// In metres.
    package var radius: Double
    package var restDays: Int
    package var leastAge: Int?
    package var leastQuality: Double
    package var isUrgent: Bool
    package var isLocked: Bool
    /// Why it was cancelled.
    package var reason: String?
    package var unfilledReason: String?

    static let columns = """
        m.id, m.title, m.state::text AS state, m.establishment_id, m.branch_id,
        b.name AS branch, m.opens_at, m.closes_at, m.time_zone, m.slots,
        (SELECT count(*) FROM missions.assignments a WHERE a.mission_id = m.id
            AND a.state IN ('offered', 'accepted', 'arrived', 'submitted', 'paid')) AS filled,
        m.paid, m.pay, m.currency, m.freebies, m.radius_m, m.rest_days, m.min_age,
        m.min_quality, m.is_urgent, m.is_locked, m.reason, m.unfilled_reason
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        title = try row.text("title")
        let word = try row.text("state")
        guard let state = MissionState(rawValue: word) else {
            throw PostgresError.decoding("a mission is \(word), which this program does not know")
        }
        self.state = state
        establishment = try row.int64("establishment_id")
        branch = try row.int64("branch_id")
        branchName = try row.text("branch")
        opensAt = try row.timestamp("opens_at")
        closesAt = try row.timestamp("closes_at")
        timeZone = try row.text("time_zone")
        slots = Int(try row.int16("slots"))
        filled = Int(try row.int64("filled"))
        paid = try row.int64("paid")
        pay = try row.int64("pay")
        currency = try row.text("currency")
        freebies = try row.optionalText("freebies")
        radius = try row.double("radius_m")
        restDays = Int(try row.int16("rest_days"))
        leastAge = try row.optionalInt16("min_age").map(Int.init)
        leastQuality = try row.double("min_quality")
        isUrgent = try row.bool("is_urgent")
        isLocked = try row.bool("is_locked")
        reason = try row.optionalText("reason")
        unfilledReason = try row.optionalText("unfilled_reason")
    }
}

/// An entry of a mission's checklist.
package struct TaskRecord: Sendable {
    package var number: Int
    package var kind: String
    package var title: String
    package var isRequired: Bool

    init(_ row: Row) throws {
        number = Int(try row.int16("number"))
        kind = try row.text("kind")
        title = try row.text("title")
        isRequired = try row.bool("is_required")
    }
}

/// A coupon that a shopper gets whose submission is approved.
package struct RewardRecord: Sendable {
    package var number: Int
    package var establishment: Int64
    package var title: String
    package var days: Int

    init(_ row: Row) throws {
        number = Int(try row.int16("number"))
        establishment = try row.int64("establishment_id")
        title = try row.text("title")
        days = Int(try row.int16("days"))
    }
}

/// A shopper at a slot, from the offer to the end.
package struct AssignmentRecord: Sendable {
    package var id: Int64
    package var mission: Int64
    package var shopper: Int64
    package var slot: Int
    package var state: String
    package var offeredAt: Instant
    package var answerBy: Instant
    package var acceptedAt: Instant?
    package var arrivedAt: Instant?
    package var submittedAt: Instant?
    package var endedAt: Instant?
    /// Nil: an operator's choice.
    package var score: Int64?
    /// In metres.
    package var distance: Double?
    package var returns: Int
    package var transaction: Int64?
    /// Who last decided by hand, and why.
    package var actor: String?
    package var reason: String?
    /// Why the last review returned or rejected it, and the tasks that it is about.
    package var code: String?
    package var reviewTasks: [Int32]
    /// The coupons that were refused at the approval: number and reason.
    package var refusedCoupons: [String]

    static let columns = """
        a.id, a.mission_id, a.person_id, a.slot, a.state::text AS state, a.offered_at,
        a.answer_by, a.accepted_at, a.arrived_at, a.submitted_at, a.ended_at, a.score,
        a.distance_m, a.returns, a.payment_id, a.actor, a.reason, a.review_code,
        a.review_tasks,
        ARRAY(SELECT c.number || ' ' || c.reason FROM missions.refused_coupons c
            WHERE c.assignment_id = a.id ORDER BY c.number) AS refused_coupons
        """

    init(_ row: Row) throws {
        id = try row.int64("id")
        mission = try row.int64("mission_id")
        shopper = try row.int64("person_id")
        slot = Int(try row.int16("slot"))
        state = try row.text("state")
        offeredAt = try row.timestamp("offered_at")
        answerBy = try row.timestamp("answer_by")
        acceptedAt = try row.optionalTimestamp("accepted_at")
        arrivedAt = try row.optionalTimestamp("arrived_at")
        submittedAt = try row.optionalTimestamp("submitted_at")
        endedAt = try row.optionalTimestamp("ended_at")
        score = try row.optionalInt64("score")
        distance = try row.optionalDouble("distance_m")
        returns = Int(try row.int16("returns"))
        transaction = try row.optionalInt64("payment_id")
        actor = try row.optionalText("actor")
        reason = try row.optionalText("reason")
        code = try row.optionalText("review_code")
        reviewTasks = try row.int32Array("review_tasks")
        refusedCoupons = try row.textArray("refused_coupons")
    }
}

/// Where a shopper stands.
package enum ShopperState: String, Sendable, CaseIterable {
    case candidate, active, suspended, refused, left
}

/// A shopper as operators see one.
package struct ShopperRecord: Sendable {
    package var id: Int64
    package var state: ShopperState
    package var stateSince: Instant
    package var hiredAt: Instant?
    package var awayUntil: Instant?
    package var waitingSince: Instant?
    package var expectedPay: Int64?
    package var reviewed: Int
    package var good: Int
    package var quality: Double
    package var completed: Int
    package var missed: Int
    package var radius: Double
    package var dailyCapacity: Int
    package var hasHome: Bool
    /// Assignments that have not ended.
    package var held: Int
    package var reason: String?

    static let columns = """
        s.person_id, s.state::text AS state, s.state_since, s.hired_at, s.away_until,
        s.waiting_since, s.expected_pay, s.reviewed, s.good, s.quality, s.completed, s.missed,
        s.radius_m, s.daily_capacity, missions.has_home(s.person_id) AS has_home,
        (SELECT count(*) FROM missions.assignments a WHERE a.person_id = s.person_id
            AND a.state IN ('offered', 'accepted', 'arrived', 'submitted')) AS held, s.reason
        """

    init(_ row: Row) throws {
        id = try row.int64("person_id")
        let word = try row.text("state")
        guard let state = ShopperState(rawValue: word) else {
            throw PostgresError.decoding("a shopper is \(word), which this program does not know")
        }
        self.state = state
        stateSince = try row.timestamp("state_since")
        hiredAt = try row.optionalTimestamp("hired_at")
        awayUntil = try row.optionalTimestamp("away_until")
        waitingSince = try row.optionalTimestamp("waiting_since")
        expectedPay = try row.optionalInt64("expected_pay")
        reviewed = Int(try row.int32("reviewed"))
        good = Int(try row.int32("good"))
        quality = try row.double("quality")
        completed = Int(try row.int32("completed"))
        missed = Int(try row.int32("missed"))
        radius = try row.double("radius_m")
        dailyCapacity = Int(try row.int16("daily_capacity"))
        hasHome = try row.bool("has_home")
        held = Int(try row.int64("held"))
        reason = try row.optionalText("reason")
    }
}
