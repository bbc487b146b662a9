import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What operators do to missions and assignments by hand.
enum MissionChangeCommands {
    static let all = [offer, withdraw, review, lock, unlock, cancel]

    private static func changes(_ invocation: Invocation, _ session: Session) -> MissionChanges {
        MissionChanges(session: session, actor: invocation.operatorName)
    }

    // MARK: Assignments

    private static let accepted = Option.flag(
        "accepted", help: "The shopper has agreed already, by telephone for example")
    private static let force = Option.flag(
        "force", help: "Though they declined before, live too far away or have a lower quality")

    private static let offer = Command(
        "mission", "offer", effect: .changes,
        summary: "Offer a mission to a shopper of your choice",
        discussion: """
            All rules hold as for the schedule, but for a lock: that keeps the schedule off. \
            Refused when a rule forbids it; 'errand mission explain' says which.
            """,
        examples: [
            .init("errand mission offer 12 42", "a free slot, which 42 may accept or decline"),
            .init("errand mission offer 12 42 --accepted", "42 has agreed"),
        ],
        options: [accepted, force, MissionWords.note],
        arguments: [MissionWords.mission, MissionWords.shopper]
    ) { invocation in
        let (mission, shopper) = (
            invocation[MissionWords.mission], invocation[MissionWords.shopper]
        )
        let session = try invocation.session()
        try invocation.confirm("offer mission \(mission) to person \(shopper)?")
        let id = try await MissionWords.refusing {
            try await changes(invocation, session).offer(
                Int64(mission), to: Int64(shopper), isAccepted: invocation[accepted],
                isForced: invocation[force], reason: invocation[MissionWords.note], now: .now())
        }
        try await MissionWords.show(assignment: Int(id), session, invocation)
        return .done
    }

    private static let withdraw = Command(
        "mission", "withdraw", effect: .changes, summary: "Take an assignment back from a shopper",
        discussion: """
            The slot is free again, and offered to somebody else. The shopper is told the reason. \
            What was handed in is reviewed instead.
            """,
        examples: [.init("errand mission withdraw 4711 --reason 'the shop is shut'", "asks first")],
        options: [MissionWords.why], arguments: [MissionWords.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionWords.assignment], try invocation.session())
        try invocation.confirm("withdraw assignment \(id)?")
        let isNew = try await MissionWords.refusing {
            try await changes(invocation, session).withdraw(
                Int64(id), reason: invocation[MissionWords.why], now: .now())
        }
        if !isNew { invocation.output.note("it was withdrawn before") }
        try await MissionWords.show(assignment: id, session, invocation)
        return .done
    }

    private static let verdict = Option<MissionChanges.Verdict?>.value(
        "verdict", .choice(of: MissionChanges.Verdict.self, "VERDICT"),
        help: "approve pays it, return gives it back to be completed, reject ends it unpaid"
    ).required()

    private static let review = Command(
        "mission", "review", effect: .changes, summary: "Say what a submission is worth",
        discussion: """
            What is approved is paid at once, and once. Approving and rejecting count for the \
            shopper's quality. Returning and rejecting need a reason, which the shopper reads.
            """,
        examples: [
            .init("errand mission review 4711 --verdict approve", "pays it"),
            .init(
                "errand mission review 4711 --verdict return --reason 'no receipt'",
                "the shopper completes it"),
        ],
        options: [verdict, MissionWords.note], arguments: [MissionWords.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionWords.assignment], try invocation.session())
        let (said, reason) = (invocation[verdict], invocation[MissionWords.note])
        guard said == .approve || reason != nil else {
            throw CommandFailure(
                exit: .usage, message: "--verdict \(said.rawValue) needs --reason",
                hint: "the shopper reads it")
        }
        try invocation.confirm("\(said.rawValue) the submission of assignment \(id)?")
        let isNew = try await MissionWords.refusing {
            try await changes(invocation, session).review(
                Int64(id), said, reason: reason, now: .now())
        }
        if !isNew { invocation.output.note("the same was said before") }
        try await MissionWords.show(assignment: id, session, invocation)
        return .done
    }

    // MARK: Missions

    private static let lock = Command(
        "mission", "lock", effect: .changes, summary: "Keep the schedule off a mission",
        discussion: "Only 'errand mission offer' gives its free slots away then.",
        examples: [.init("errand mission lock 12 --reason 'I know whom'", "no offers by schedule")],
        options: [MissionWords.note], arguments: [MissionWords.id]
    ) { invocation in
        try await set(locked: true, invocation)
        return .done
    }

    private static let unlock = Command(
        "mission", "unlock", effect: .changes, summary: "Give a mission back to the schedule",
        examples: [.init("errand mission unlock 12", "its free slots are offered again")],
        options: [MissionWords.note], arguments: [MissionWords.id]
    ) { invocation in
        try await set(locked: false, invocation)
        return .done
    }

    private static func set(locked isLocked: Bool, _ invocation: Invocation) async throws {
        let (id, session) = (invocation[MissionWords.id], try invocation.session())
        let isNew = try await MissionWords.refusing {
            try await changes(invocation, session).lock(
                Int64(id), isLocked, reason: invocation[MissionWords.note])
        }
        if !isNew { invocation.output.note("it was so already") }
        try await MissionWords.show(id, session, invocation)
    }

    private static let cancel = Command(
        "mission", "cancel", effect: .changes, summary: "End a mission before its time",
        discussion: """
            Whoever holds a slot is told the reason. What was handed in before is still reviewed \
            and paid.
            """,
        examples: [.init("errand mission cancel 12 --reason 'the shop has closed'", "asks first")],
        options: [MissionWords.why], arguments: [MissionWords.id]
    ) { invocation in
        let (id, session) = (invocation[MissionWords.id], try invocation.session())
        try invocation.confirm("cancel mission \(id), which cannot be undone?")
        let isNew = try await MissionWords.refusing {
            try await changes(invocation, session).cancel(
                Int64(id), reason: invocation[MissionWords.why])
        }
        if !isNew { invocation.output.note("it was not open any more") }
        try await MissionWords.show(id, session, invocation)
        return .done
    }
}
