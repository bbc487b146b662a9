import ErrandNotification
import ErrandCommand
import FoundationEssentials
import ErrandNotification
import ErrandPostgres
import ErrandTerminal

/// `errand household balances|remind`.
enum HouseholdDebtCommands {
    static let all = [balances, remind]

    // MARK: balances

    private static let group = Argument.optional(
        ValueFormat.integer("GROUP", in: 1...Int.max),
        help: "The group's id; without it, list the month ends of all time zones")
    private static let simplified = Option.flag(
        "simplified", help: "Show a few payments that settle all debts; changes nothing")

    private static let balances = Command(
        "household", "balances", effect: .read,
        summary: "Show who owes whom in a group, or the month end of each time zone",
        discussion: """
            Every debtor is notified once a month, on its last day in the group's time zone. \
            Without GROUP, print a line for each time zone that has groups: the next month end, \
            when debtors are notified, and how many groups are not yet notified of the last one. \
            With --simplified, the largest debtor pays the largest creditor, repeatedly: N people \
            settle with at most N - 1 payments.
            """,
        examples: [
            .init("errand household balances 12", "who owes whom"),
            .init("errand household balances 12 --simplified", "payments that settle all debts"),
            .init("errand household balances", "the next month end of each time zone"),
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
                ends.map { HouseholdFormatting.record($0).named(by: "zone") },
                columns: [
                    Column("zone"), Column("groups"), Column("month_end"), Column("at"),
                    Column("last_month_end"), Column("notified_at"), Column("untold"),
                ], empty: "there are no groups")
            return .done
        }
        _ = try await HouseholdFormatting.group(id, session)
        let debts = try await DebtRows(session: session).balances(
            of: Int64(id), isSimplified: invocation[simplified])
        try invocation.output.list(
            debts.map { HouseholdFormatting.record($0).named(by: "debtor") },
            columns: [
                Column("debtor"), Column("creditor"), Column("amount"), Column("currency"),
            ], empty: "nobody in group \(id) owes anything")
        return .done
    }

    // MARK: remind

    private static let from = Option<Int?>.integer(
        "from", range: 1...Int.max, placeholder: "PERSON",
        help: "The creditor, in whose name the reminders are sent"
    ).required()
    private static let to = Option<Int?>.integer(
        "to", range: 1...Int.max, placeholder: "PERSON",
        help: "Remind only this debtor (default: all debtors)")
    private static let dryRun = Option.flag(
        "dry-run", help: "Show the decision about each reminder, and send none")

    private static let remind = Command(
        "household", "remind", effect: .write,
        summary: "Remind debtors of what they owe a person, in that person's name",
        discussion: """
            The same reminder as in the person's app, under the same policy: at most one reminder \
            of a debt a day, and three a week. A debtor who may not be reminded yet is skipped, \
            and HOLD_UNTIL is when the next reminder is allowed. Exits 5 (refused) if all are \
            skipped, and 7 (partly done) if some are. A held reminder is sent at HOLD_UNTIL, for \
            example after quiet hours.
            """,
        examples: [
            .init(
                "errand household remind --from 42 --to 43 --reason 'asked for it'",
                "remind one debtor"),
            .init(
                "errand household remind --from 42 --dry-run",
                "who would be reminded, and when"),
        ],
        options: [from, to, dryRun, AuditOptions.reason]
    ) { invocation in
        let (creditor, session) = (invocation[from], try invocation.session())
        guard invocation[to] != creditor else {
            throw CommandFailure(exit: .usage, message: "--to: expected a person other than --from")
        }
        let reminders = try await outlooks(invocation, session)
        let notified = Set(reminders.filter { isNotified($0.decision) }.map(\.debt.debtor)).sorted()
        if !invocation[dryRun], !notified.isEmpty {
            try invocation.confirm(
                "remind "
                    + (notified.count == 1
                        ? "person \(notified[0])" : "\(notified.count) people")
                    + " of what they owe person \(creditor)?")
            do {
                try await DebtReminders(session: session, actor: invocation.operatorName).ask(
                    for: Int64(creditor), of: notified, reason: invocation[AuditOptions.reason])
            } catch let error as HouseholdError { throw failure(error) }
        }
        try invocation.output.list(
            reminders.map(record),
            columns: [
                Column("debtor"), Column("group"), Column("amount"), Column("currency"),
                Column("decision"), Column("hold_until"), Column("explanation", isFlexible: true),
            ])
        let left = reminders.filter { !isNotified($0.decision) }
        guard let first = left.first else { return .done }
        throw CommandFailure(
            exit: notified.isEmpty ? .refused : .partlyDone,
            message: left.count == 1
                ? "person \(first.debt.debtor) is not reminded: "
                    + NotificationWhyCommand.words(first.decision).because
                : "\(left.count) of \(reminders.count) reminders were skipped",
            hint: "the policy limits reminders of a debt: hold_until is when the next is allowed")
    }

    private typealias Reminder = (debt: DebtRecord, decision: NoticeDecision)

    /// The policy's decision about each requested reminder.
    private static func outlooks(
        _ invocation: Invocation, _ session: Session
    ) async throws -> [Reminder] {
        let (creditor, debtor) = (invocation[from], invocation[to])
        let notices = try NotificationFormatting.notices(invocation)
        let rows = NoticeRows(session: session)
        for person in [creditor] + (debtor.map { [$0] } ?? []) {
            guard try await rows.devices(of: Int64(person)) != nil else {
                throw NotificationFormatting.unknown(person: person)
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
                    + "'errand household balances GROUP' shows who owes whom")
        }
        var reminders: [Reminder] = []
        for debt in debts {
            let outlook = try await notices.wouldDo(
                person: debt.debtor, kind: DebtReminders.notice, subject: debt.subject,
                from: debt.creditor, now: Date())
            guard let outlook else {
                throw NotificationFormatting.unknown(person: Int(debt.debtor))
            }
            reminders.append((debt, outlook.decision))
        }
        return reminders
    }

    private static func isNotified(_ decision: NoticeDecision) -> Bool {
        switch decision {
        case .send, .hold: true
        case .drop, .expire, .refuse: false
        }
    }

    private static func record(_ reminder: Reminder) -> Record {
        let (word, because, until) = NotificationWhyCommand.words(reminder.decision)
        var record = HouseholdFormatting.record(reminder.debt).named(by: "debtor")
        record.append(
            "decision", .marked(word, isNotified(reminder.decision) ? .green : .yellow))
        record.append("hold_until", .optional(until) { $0.cell })
        record.append("explanation", .text(because))
        return record
    }

    private static func failure(_ error: HouseholdError) -> CommandFailure {
        switch error {
        case .notFound(let words): CommandFailure(exit: .notFound, message: words)
        case .conflict(let words): CommandFailure(exit: .conflict, message: words)
        }
    }
}
