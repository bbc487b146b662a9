import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand mission offer|withdraw|review|lock|unlock|cancel`: changes by an operator.
enum MissionChangeCommands {
    static let all = [offer, withdraw, review, lock, unlock, cancel]

    private static func changes(_ invocation: Invocation, _ session: Session) -> MissionChanges {
        MissionChanges(session: session, actor: invocation.operatorName)
    }

    // MARK: Assignments

    private static let accepted = Option.flag(
        "accepted", help: "The shopper has already agreed, for example by telephone")
    private static let force = Option.flag(
        "force", help: "Offer despite an earlier refusal, the distance or the quality")

    private static let offer = Command(
        "mission", "offer", effect: .write,
        summary: "Offer a mission to a shopper of your choice",
        discussion: """
            All rules of the schedule apply, except the lock, which only stops the schedule. \
            Refused if a rule forbids the offer; 'errand mission explain' lists the rules.
            """,
        examples: [
            .init("errand mission offer 12 42", "offer a free slot; 42 may accept or decline"),
            .init("errand mission offer 12 42 --accepted", "record that 42 has agreed"),
        ],
        options: [accepted, force, MissionFormatting.note],
        arguments: [MissionFormatting.mission, MissionFormatting.shopper]
    ) { invocation in
        let (mission, shopper) = (
            invocation[MissionFormatting.mission], invocation[MissionFormatting.shopper]
        )
        let session = try invocation.session()
        try invocation.confirm("offer mission \(mission) to person \(shopper)?")
        let id = try await MissionFormatting.refusing {
            try await changes(invocation, session).offer(
                Int64(mission), to: Int64(shopper), isAccepted: invocation[accepted],
                isForced: invocation[force], reason: invocation[MissionFormatting.note], now: .now()
            )
        }
        try await MissionFormatting.show(assignment: Int(id), session, invocation)
        return .done
    }

    private static let withdraw = Command(
        "mission", "withdraw", effect: .write, summary: "Withdraw an assignment from a shopper",
        discussion: """
            The slot is free again and is offered to another shopper. The shopper is notified of \
            the reason. A submitted assignment cannot be withdrawn: review it instead.
            """,
        examples: [.init("errand mission withdraw 4711 --reason 'the shop is shut'", "asks first")],
        options: [MissionFormatting.why], arguments: [MissionFormatting.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionFormatting.assignment], try invocation.session())
        try invocation.confirm("withdraw assignment \(id)?")
        let isNew = try await MissionFormatting.refusing {
            try await changes(invocation, session).withdraw(
                Int64(id), reason: invocation[MissionFormatting.why], now: .now())
        }
        if !isNew { invocation.output.note("the assignment was already withdrawn") }
        try await MissionFormatting.show(assignment: id, session, invocation)
        return .done
    }

    private static let verdict = Option<MissionChanges.Verdict?>.value(
        "verdict", .choice(of: MissionChanges.Verdict.self, "VERDICT"),
        help: "approve: pay it; return: have the shopper complete it; reject: do not pay it"
    ).required()
    private static let code = Option<MissionChanges.ReviewCode?>.value(
        "code", .choice(of: MissionChanges.ReviewCode.self, "CODE"),
        help: "Why it is returned or rejected; the shopper reads it")
    private static let tasks = Option<[Int]>.list(
        "task", .integer("NUMBER", in: 1...50),
        help: "The tasks that --code is about; 'errand mission show' lists them")

    private static let review = Command(
        "mission", "review", effect: .write, summary: "Approve, return or reject a submission",
        discussion: """
            Approval pays the shopper immediately, exactly once, and grants the coupons of the \
            mission. Approval and rejection affect the shopper's quality. return and reject need \
            --code or --reason, which the shopper can read.

            --code faces deletes the results of its tasks at once, also of a submission that was \
            returned or rejected before, and a shopper does them again. 'errand mission redact' \
            deletes them in any state.
            """,
        examples: [
            .init("errand mission review 4711 --verdict approve", "pay it"),
            .init(
                "errand mission review 4711 --verdict return --reason 'no receipt'",
                "have the shopper complete it"),
            .init(
                "errand mission review 4711 --verdict return --code faces --task 1",
                "delete the picture of task 1 and have it taken again"),
        ],
        options: [verdict, code, tasks, MissionFormatting.note],
        arguments: [MissionFormatting.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionFormatting.assignment], try invocation.session())
        let (said, reason) = (invocation[verdict], invocation[MissionFormatting.note])
        let (code, tasks) = (invocation[code], invocation[tasks])
        try expectReasons(said, code, tasks, reason: reason)
        try invocation.confirm(
            "\(said.rawValue) the submission of assignment \(id)"
                + (code == .faces ? ", and delete the results of its tasks?" : "?"))
        let isNew = try await MissionFormatting.refusing {
            try await changes(invocation, session).review(
                Int64(id), said, code: code, tasks: tasks.map(Int32.init), reason: reason,
                now: .now())
        }
        if !isNew { invocation.output.note("the same verdict was already recorded") }
        try await MissionFormatting.show(assignment: id, session, invocation)
        return .done
    }

    private static func expectReasons(
        _ said: MissionChanges.Verdict, _ code: MissionChanges.ReviewCode?, _ tasks: [Int],
        reason: String?
    ) throws {
        if said == .approve, code != nil {
            throw CommandFailure(
                exit: .usage, message: "--verdict approve takes no --code",
                hint: "codes say why a submission is returned or rejected")
        }
        if said != .approve, code == nil, reason == nil {
            throw CommandFailure(
                exit: .usage, message: "--verdict \(said.rawValue) needs --code or --reason",
                hint: "the shopper can read both")
        }
        if code == .faces, tasks.isEmpty {
            throw CommandFailure(
                exit: .usage, message: "--code faces needs --task",
                hint: "name the tasks whose pictures show faces; 'errand mission show' lists them")
        }
        if code == nil, !tasks.isEmpty {
            throw CommandFailure(
                exit: .usage, message: "--task needs --code",
                hint: "tasks say what the code is about")
        }
    }

    // MARK: Missions

    private static let lock = Command(
        "mission", "lock", effect: .write, summary: "Exclude a mission from the schedule",
        discussion: "Only 'errand mission offer' can offer its free slots then.",
        examples: [.init("errand mission lock 12 --reason 'I know whom'", "offer it by hand only")],
        options: [MissionFormatting.note], arguments: [MissionFormatting.id]
    ) { invocation in
        try await set(locked: true, invocation)
        return .done
    }

    private static let unlock = Command(
        "mission", "unlock", effect: .write, summary: "Include a mission in the schedule again",
        examples: [.init("errand mission unlock 12", "the schedule offers its free slots")],
        options: [MissionFormatting.note], arguments: [MissionFormatting.id]
    ) { invocation in
        try await set(locked: false, invocation)
        return .done
    }

    private static func set(locked isLocked: Bool, _ invocation: Invocation) async throws {
        let (id, session) = (invocation[MissionFormatting.id], try invocation.session())
        let isNew = try await MissionFormatting.refusing {
            try await changes(invocation, session).lock(
                Int64(id), isLocked, reason: invocation[MissionFormatting.note])
        }
        if !isNew {
            invocation.output.note("the mission was already \(isLocked ? "locked" : "unlocked")")
        }
        try await MissionFormatting.show(id, session, invocation)
    }

    private static let cancel = Command(
        "mission", "cancel", effect: .write, summary: "Cancel an open mission",
        discussion: """
            Shoppers who hold a slot are notified of the reason. Earlier submissions are still \
            reviewed and paid.
            """,
        examples: [.init("errand mission cancel 12 --reason 'the shop has closed'", "asks first")],
        options: [MissionFormatting.why], arguments: [MissionFormatting.id]
    ) { invocation in
        let (id, session) = (invocation[MissionFormatting.id], try invocation.session())
        try invocation.confirm("cancel mission \(id), which cannot be undone?")
        let isNew = try await MissionFormatting.refusing {
            try await changes(invocation, session).cancel(
                Int64(id), reason: invocation[MissionFormatting.why])
        }
        if !isNew { invocation.output.note("the mission was already closed or cancelled") }
        try await MissionFormatting.show(id, session, invocation)
        return .done
    }
}
