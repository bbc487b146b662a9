import ErrandNotification
import ErrandCommand
import FoundationEssentials
import ErrandNotification
import ErrandPostgres
import ErrandTerminal

/// `errand household dues|remind`.
enum HouseholdDebtCommands {
    static let all = [dues, remind]

    // MARK: dues

    private static let group = Argument.optional(
        ValueFormat.integer("GROUP", in: 1...Int.max),
        help: "The group's id; without one, when the debts of which zones are told")
    private static let simplified = Option.flag(
        "simplified", help: "Few payments that come to the same for each; nothing is changed")

    private static let dues = Command(
        "household", "dues", effect: .looks,
        summary: "Show who owes whom in a group, or when the month ends in which time zone",
        discussion: """
            On the last day of a month, by the clocks of their group, all who owe are told once. \
            Without GROUP there is a line for each time zone that has groups: the month end that \
            comes and when it is told, and how many groups still have to be told of the last one. \
            With --simplified each time who owes most pays whom most is owed, so that n people \
            settle with n - 1 payments at most.
            """,
        examples: [
            .init("errand household dues 12", "who owes whom"),
            .init("errand household dues 12 --simplified", "few payments that settle it all"),
            .init("errand household dues", "what is due next, and where"),
        ],
        options: [simplified], arguments: [group]
    ) { invocation in
        let session = try invocation.session()
        guard let id = invocation[group] else {
            guard !invocation[simplified] else {
                throw CommandFailure(exit: .usage, message: "--simplified needs a GROUP")
            }
            let ends = try await DebtRows(session: session).monthEnds(now: .now())
            try invocation.output.list(
                ends.map { HouseholdWords.record($0).named(by: "zone") },
                columns: [
                    Column("zone"), Column("groups"), Column("month_end"), Column("at"),
                    Column("last_month_end"), Column("told_at"), Column("untold"),
                ], empty: "there is no group")
            return .done
        }
        _ = try await HouseholdWords.group(id, session)
        let debts = try await DebtRows(session: session).dues(
            of: Int64(id), isSimplified: invocation[simplified])
        try invocation.output.list(
            debts.map { HouseholdWords.record($0).named(by: "debtor") },
            columns: [
                Column("debtor"), Column("creditor"), Column("amount"), Column("currency"),
            ], empty: "nobody of group \(id) owes anything")
        return .done
    }

    // MARK: remind

    private static let from = Option<Int?>.integer(
        "from", range: 1...Int.max, placeholder: "PERSON", help: "In whose name: who is owed"
    ).required()
    private static let to = Option<Int?>.integer(
        "to", range: 1...Int.max, placeholder: "PERSON",
        help: "Only this one (default: all who owe them)")
    private static let dryRun = Option.flag(
        "dry-run", help: "Only show what would become of each reminder")

    private static let remind = Command(
        "household", "remind", effect: .changes,
        summary: "Remind people of what they owe somebody, in the name of that person",
        discussion: """
            As the person's app does it, and under the same policy: one reminder of a debt a day, \
            and three a week. Who may not be reminded now is left out, with the time at which \
            the next is allowed in hold_until; refused (5) when that is all of them, partly done \
            (7) when some. What is held is told then, such as after quiet hours.
            """,
        examples: [
            .init("errand household remind --from 42 --to 43 --reason 'asked for it'", "one"),
            .init("errand household remind --from 42 --dry-run", "who would be told, and when"),
        ],
        options: [from, to, dryRun, AuditOptions.reason]
    ) { invocation in
        let (creditor, session) = (invocation[from], try invocation.session())
        guard invocation[to] != creditor else {
            throw CommandFailure(exit: .usage, message: "--to: expected another person than --from")
        }
        let reminders = try await outlooks(invocation, session)
        let told = Set(reminders.filter { isTold($0.decision) }.map(\.debt.debtor)).sorted()
        if !invocation[dryRun], !told.isEmpty {
            try invocation.confirm(
                "remind \(told.count == 1 ? "person \(told[0])" : "\(told.count) people") "
                    + "of what they owe person \(creditor)?")
            do {
                try await DebtReminders(session: session, actor: invocation.operatorName).ask(
                    for: Int64(creditor), of: told, reason: invocation[AuditOptions.reason])
            } catch let error as HouseholdError { throw failure(error) }
        }
        try invocation.output.list(
            reminders.map(record),
            columns: [
                Column("debtor"), Column("group"), Column("amount"), Column("currency"),
                Column("decision"), Column("hold_until"), Column("because", isFlexible: true),
            ])
        let left = reminders.filter { !isTold($0.decision) }
        guard let first = left.first else { return .done }
        throw CommandFailure(
            exit: told.isEmpty ? .refused : .partlyDone,
            message: left.count == 1
                ? "person \(first.debt.debtor) is not reminded: "
                    + NotificationWhyCommand.words(first.decision).because
                : "\(left.count) of \(reminders.count) reminders are left out",
            hint: "the policy protects who is reminded: see hold_until for when the next is "
                + "allowed")
    }

    private typealias Reminder = (debt: DebtRecord, decision: NoticeDecision)

    /// What the policy says of each reminder that was asked for.
    private static func outlooks(
        _ invocation: Invocation, _ session: Session
    ) async throws -> [Reminder] {
        let (creditor, debtor) = (invocation[from], invocation[to])
        let notices = try NotificationWords.notices(invocation)
        let rows = NoticeRows(session: session)
        for person in [creditor] + (debtor.map { [$0] } ?? []) {
            guard try await rows.devices(of: Int64(person)) != nil else {
                throw NotificationWords.unknown(person: person)
            }
        }
        let debts = try await DebtRows(session: session).owed(
            to: Int64(creditor), by: debtor.map(Int64.init))
        guard !debts.isEmpty else {
            throw CommandFailure(
                exit: .conflict,
                message: debtor.map { "person \($0) owes person \(creditor) nothing" }
                    ?? "nobody owes person \(creditor) anything",
                hint: "'errand household ls --person \(creditor)' lists their groups, "
                    + "'errand household dues GROUP' who owes whom")
        }
        var reminders: [Reminder] = []
        for debt in debts {
            let outlook = try await notices.wouldDo(
                person: debt.debtor, kind: DebtReminders.notice, subject: debt.subject,
                from: debt.creditor, now: Date())
            guard let outlook else { throw NotificationWords.unknown(person: Int(debt.debtor)) }
            reminders.append((debt, outlook.decision))
        }
        return reminders
    }

    private static func isTold(_ decision: NoticeDecision) -> Bool {
        switch decision {
        case .tell, .hold: true
        case .drop, .expire, .refuse: false
        }
    }

    private static func record(_ reminder: Reminder) -> Record {
        let (word, because, until) = NotificationWhyCommand.words(reminder.decision)
        var record = HouseholdWords.record(reminder.debt).named(by: "debtor")
        record.append(
            "decision", .marked(word, isTold(reminder.decision) ? .green : .yellow))
        record.append("hold_until", .optional(until) { $0.cell })
        record.append("because", .text(because))
        return record
    }

    private static func failure(_ error: HouseholdError) -> CommandFailure {
        switch error {
        case .notFound(let words): CommandFailure(exit: .notFound, message: words)
        case .conflict(let words): CommandFailure(exit: .conflict, message: words)
        }
    }
}
