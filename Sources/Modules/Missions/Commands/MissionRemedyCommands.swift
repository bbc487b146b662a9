import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// `errand mission redact|grant`: what operators put right after a decision.
enum MissionRemedyCommands {
    static let all = [redact, grant]

    private static func changes(_ invocation: Invocation, _ session: Session) -> MissionChanges {
        MissionChanges(session: session, actor: invocation.operatorName)
    }

    private static let tasks = Option<[Int]>.list(
        "task", .integer("NUMBER", in: 1...50),
        help: "The tasks whose pictures show faces; 'errand mission show' lists them")

    private static let redact = Command(
        "mission", "redact", effect: .write,
        summary: "Delete pictures that show faces, whatever the state of the assignment",
        discussion: """
            Deletes the results of the tasks at once. State, pay and notices stay as they are; \
            only a shopper who is at work is asked for the tasks again. To return or reject a \
            submission for its faces, use 'errand mission review --code faces'.
            """,
        examples: [
            .init("errand mission redact 4711 --task 1", "of a paid or missed mission, too")
        ],
        options: [tasks, MissionFormatting.note], arguments: [MissionFormatting.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionFormatting.assignment], try invocation.session())
        let tasks = invocation[tasks]
        guard !tasks.isEmpty else {
            throw CommandFailure(
                exit: .usage, message: "expected --task",
                hint: "name the tasks whose pictures show faces")
        }
        try invocation.confirm("delete the results of these tasks of assignment \(id)?")
        let isNew = try await MissionFormatting.refusing {
            try await changes(invocation, session).redact(
                Int64(id), tasks: tasks.map(Int32.init), reason: invocation[MissionFormatting.note])
        }
        if !isNew { invocation.output.note("there were no results of these tasks") }
        try await MissionFormatting.show(assignment: id, session, invocation)
        return .done
    }

    private static let giveUp = Option.flag(
        "give-up", help: "Report the refused coupons no more, and grant none")

    private static let grant = Command(
        "mission", "grant", effect: .write,
        summary: "Grant coupons of an approved mission that were refused",
        discussion: """
            Such as those of an establishment that was closed. They are valid from now. \
            REFUSED_COUPONS has the number of each coupon that is still refused, and why: closed, \
            under_age, no_birth_date, blocked, or used, if the app has granted another coupon \
            with the origin.
            """,
        examples: [
            .init("errand mission grant 4711", "when the establishment is open again"),
            .init("errand mission grant 4711 --give-up --reason 'closed for good'", "asks first"),
        ],
        options: [giveUp, MissionFormatting.note], arguments: [MissionFormatting.assignment]
    ) { invocation in
        let (id, session) = (invocation[MissionFormatting.assignment], try invocation.session())
        let (changes, reason) = (
            changes(invocation, session), invocation[MissionFormatting.note]
        )
        if invocation[giveUp] {
            try invocation.confirm("give up the refused coupons of assignment \(id)?")
            let count = try await MissionFormatting.refusing {
                try await changes.giveUpRefused(Int64(id), reason: reason)
            }
            if count == 0 { invocation.output.note("no coupon was refused") }
            try await MissionFormatting.show(assignment: id, session, invocation)
            return .done
        }
        let (granted, refused) = try await MissionFormatting.refusing {
            try await changes.grantRefused(Int64(id), reason: reason)
        }
        if granted + refused == 0 { invocation.output.note("no coupon was refused") }
        try await MissionFormatting.show(assignment: id, session, invocation)
        guard refused > 0 else { return .done }
        throw CommandFailure(
            exit: granted > 0 ? .partlyDone : .refused,
            message: "\(refused) of \(granted + refused) coupons are still refused",
            hint: "once the cause is gone, run it again; --give-up reports them no more")
    }
}
