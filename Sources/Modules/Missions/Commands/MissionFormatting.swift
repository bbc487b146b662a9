import ErrandCommand
import ErrandMatching
import ErrandPostgres
import ErrandTerminal

/// Arguments, errors and records that the mission and shopper commands share.
enum MissionFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The mission's id")
    static let mission = Argument.required(
        ValueFormat.integer("MISSION", in: 1...Int.max), help: "The mission's id")
    static let shopper = Argument.required(
        ValueFormat.integer("SHOPPER", in: 1...Int.max), help: "The person's id")
    static let assignment = Argument.required(
        ValueFormat.integer("ASSIGNMENT", in: 1...Int.max),
        help: "The assignment's id; 'errand mission show' lists them")
    static let person = Argument.required(
        ValueFormat.integer("PERSON", in: 1...Int.max), help: "The person's id")
    static let note = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500), help: "Reason, for the audit log")
    static let why = Option<String?>.value(
        "reason", .line("TEXT", upTo: 500),
        help: "Reason, for the audit log and the shopper"
    ).required()

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no mission \(id)",
            hint: "'errand mission ls' lists missions")
    }

    static func unknown(shopper id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "person \(id) is not a shopper",
            hint: "'errand shopper ls' lists shoppers, 'errand shopper hire' hires one")
    }

    /// Runs `body` and turns a refusal by the schema into a command failure.
    static func refusing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as MissionError {
            switch error {
            case .notFound(let words): throw CommandFailure(exit: .notFound, message: words)
            case .conflict(let words): throw CommandFailure(exit: .conflict, message: words)
            case .refused(let words): throw CommandFailure(exit: .refused, message: words)
            case .invalid(let words): throw CommandFailure(exit: .usage, message: words)
            }
        }
    }

    // MARK: Records

    private static func state(_ state: MissionState) -> Cell {
        .marked(state.rawValue, state == .open ? .cyan : .dim)
    }

    private static func state(_ state: ShopperState) -> Cell {
        let style: Style =
            switch state {
            case .active: .green
            case .candidate: .cyan
            case .suspended: .yellow
            case .refused, .left: .dim
            }
        return .marked(state.rawValue, style)
    }

    /// A mission, with the field names that scripts rely on.
    static func record(_ mission: MissionRecord) -> Record {
        Record([
            ("id", .id(Int(mission.id))), ("title", .text(mission.title)),
            ("state", state(mission.state)), ("establishment", .id(Int(mission.establishment))),
            ("branch", .id(Int(mission.branch))), ("place", .text(mission.branchName)),
            ("opens_at", mission.opensAt.cell), ("closes_at", mission.closesAt.cell),
            ("time_zone", .text(mission.timeZone)), ("slots", .int(mission.slots)),
            ("filled", .int(mission.filled)), ("paid", .int(Int(mission.paid))),
            ("pay", .int(Int(mission.pay))), ("currency", .text(mission.currency)),
            ("freebies", .optional(mission.freebies) { .text($0) }),
            ("radius_m", .int(Int(mission.radius.rounded()))),
            ("rest_days", .int(mission.restDays)),
            ("min_age", .optional(mission.leastAge) { .int($0) }),
            ("min_quality", .number(mission.leastQuality, decimals: 2)),
            ("is_urgent", .flag(mission.isUrgent)), ("is_locked", .flag(mission.isLocked)),
            ("unfilled_reason", .optional(mission.unfilledReason) { .text($0) }),
            ("reason", .optional(mission.reason) { .text($0) }),
        ])
    }

    /// A run, with the field names that scripts rely on.
    static func record(_ run: RunRecord) -> Record {
        Record([
            ("id", .id(Int(run.id))), ("started_at", run.startedAt.cell),
            ("missions", .int(run.missions)), ("slots", .int(run.slots)),
            ("shoppers", .int(run.shoppers)), ("candidates", .int(run.candidates)),
            ("offered", .int(run.offered)), ("total_score", .int(Int(run.totalScore))),
            ("bound", .int(Int(run.bound))), ("is_optimal", .flag(run.isOptimal)),
            ("seconds", .duration(run.took)),
        ])
    }

    /// An assignment, with the field names that scripts rely on.
    static func record(_ assignment: AssignmentRecord) -> Record {
        Record([
            ("id", .id(Int(assignment.id))), ("mission", .id(Int(assignment.mission))),
            ("shopper", .id(Int(assignment.shopper))), ("slot", .int(assignment.slot)),
            ("state", .text(assignment.state)), ("offered_at", assignment.offeredAt.cell),
            ("answer_by", assignment.answerBy.cell),
            ("accepted_at", .optional(assignment.acceptedAt) { $0.cell }),
            ("arrived_at", .optional(assignment.arrivedAt) { $0.cell }),
            ("submitted_at", .optional(assignment.submittedAt) { $0.cell }),
            ("ended_at", .optional(assignment.endedAt) { $0.cell }),
            ("score", .optional(assignment.score) { .int(Int($0)) }),
            ("distance_m", .optional(assignment.distance) { .int(Int($0.rounded())) }),
            ("returns", .int(assignment.returns)),
            ("transaction", .optional(assignment.transaction) { .id(Int($0)) }),
            ("actor", .optional(assignment.actor) { .text($0) }),
            ("reason", .optional(assignment.reason) { .text($0) }),
            ("code", .optional(assignment.code) { .text($0) }),
            ("review_tasks", .list(assignment.reviewTasks.map { String($0) })),
            ("refused_coupons", .list(assignment.refusedCoupons)),
        ])
    }

    /// A shopper, with the field names that scripts rely on.
    static func record(_ shopper: ShopperRecord) -> Record {
        Record([
            ("person", .id(Int(shopper.id))), ("state", state(shopper.state)),
            ("since", shopper.stateSince.cell),
            ("hired_at", .optional(shopper.hiredAt) { $0.cell }),
            ("away_until", .optional(shopper.awayUntil) { $0.cell }),
            ("waiting_since", .optional(shopper.waitingSince) { $0.cell }),
            ("quality", .number(shopper.quality, decimals: 3)),
            ("reviewed", .int(shopper.reviewed)), ("good", .int(shopper.good)),
            ("completed", .int(shopper.completed)), ("missed", .int(shopper.missed)),
            ("held", .int(shopper.held)), ("radius_m", .int(Int(shopper.radius.rounded()))),
            ("daily_capacity", .int(shopper.dailyCapacity)),
            ("expected_pay", .optional(shopper.expectedPay) { .int(Int($0)) }),
            ("has_home", .flag(shopper.hasHome)),
            ("reason", .optional(shopper.reason) { .text($0) }),
        ])
    }

    /// Prints a mission with its checklist and its assignments.
    static func show(_ id: Int, _ session: Session, _ invocation: Invocation) async throws {
        guard let found = try await MissionRows(session: session).mission(Int64(id)) else {
            throw unknown(id)
        }
        var record = record(found.mission)
        record.append(
            "tasks",
            .records(
                found.tasks.map { task in
                    Record([
                        ("number", .int(task.number)), ("kind", .text(task.kind)),
                        ("title", .text(task.title)), ("is_required", .flag(task.isRequired)),
                    ])
                }))
        record.append(
            "coupons",
            .records(
                found.rewards.map { reward in
                    Record([
                        ("number", .int(reward.number)),
                        ("establishment", .id(Int(reward.establishment))),
                        ("title", .text(reward.title)), ("days", .int(reward.days)),
                    ])
                }))
        record.append("assignments", .records(found.assignments.map(Self.record)))
        try invocation.output.show(record)
    }

    /// Prints an assignment.
    static func show(
        assignment id: Int, _ session: Session, _ invocation: Invocation
    ) async throws {
        guard let found = try await MissionRows(session: session).assignment(Int64(id)) else {
            throw CommandFailure(exit: .notFound, message: "there is no assignment \(id)")
        }
        try invocation.output.show(record(found))
    }

    /// Prints a shopper with their latest assignments.
    static func show(
        shopper id: Int, _ session: Session, _ invocation: Invocation
    ) async throws {
        guard let found = try await MissionRows(session: session).shopper(Int64(id)) else {
            throw unknown(shopper: id)
        }
        var record = record(found.shopper)
        record.append("assignments", .records(found.assignments.map(Self.record)))
        try invocation.output.show(record)
    }
}
