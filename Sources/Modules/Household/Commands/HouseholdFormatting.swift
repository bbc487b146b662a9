import ErrandCommand
import FoundationEssentials
import ErrandGregorian
import ErrandLedger
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// Arguments, errors and records that the household commands share.
enum HouseholdFormatting {
    static let id = Argument.required(
        ValueFormat.integer("GROUP", in: 1...Int.max), help: "The group's id")

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no group \(id)",
            hint: "'errand household ls' lists groups, --person ID those of a person")
    }

    /// The group with an id; throws a not-found failure if there is none.
    static func group(_ id: Int, _ session: Session) async throws -> GroupRecord {
        guard let group = try await GroupRows(session: session).group(Int64(id)) else {
            throw unknown(id)
        }
        return group
    }

    /// An amount: decimals for people, minor units for programs.
    static func cell(_ amount: Int64, in code: String) -> Cell {
        guard let currency = Currency(code) else { return .int(Int(amount)) }
        return LedgerFormatting.cell(Money(amount, currency))
    }

    /// An amount for a card, which does not use the short forms of tables.
    static func cell(_ amount: Int64, in code: String, _ invocation: Invocation) -> Cell {
        guard let currency = Currency(code) else { return .int(Int(amount)) }
        return LedgerFormatting.cell(Money(amount, currency), invocation)
    }

    /// Today in a group's time zone.
    static func today(_ zone: String, _ invocation: Invocation) throws -> CivilDate {
        let zone = try ScheduleFormatting.zone(zone, in: invocation.zones, by: "the group's zone")
        return LocalTime(Int(Instant.now().date.timeIntervalSince1970), in: zone).date
    }

    // MARK: Records

    /// A group, with the field names that scripts rely on.
    static func record(_ group: GroupRecord) -> Record {
        Record([
            ("id", .id(Int(group.id))), ("name", .text(group.name)), ("zone", .text(group.zone)),
            ("currency", .text(group.currency)), ("members", .int(group.members)),
            ("chores", .int(group.chores)), ("owed", cell(group.owed, in: group.currency)),
            ("balances_notified_on", .optional(group.duesToldOn) { .text($0) }),
            ("founder", .id(Int(group.founder))), ("created_at", group.createdAt.cell),
            ("emptied_at", .optional(group.emptiedAt) { $0.cell }),
            ("zone_fault", .optional(group.zoneFault) { .marked($0, .red) }),
        ])
    }

    static func record(_ member: MemberRecord, in currency: String) -> Record {
        Record([
            ("person", .id(Int(member.person))),
            ("name", .optional(member.name) { .text($0) }), ("joined_at", member.joinedAt.cell),
            ("left_at", .optional(member.leftAt) { $0.cell }), ("is_away", .flag(member.isAway)),
            ("balance", cell(member.balance, in: currency)),
        ])
    }

    static func record(_ invitation: InvitationRecord) -> Record {
        Record([
            ("id", .id(Int(invitation.id))), ("person", .id(Int(invitation.invitee))),
            ("sender", .id(Int(invitation.inviter))), ("sent_at", invitation.sentAt.cell),
            ("expires_at", invitation.expiresAt.cell),
        ])
    }

    static func record(_ debt: DebtRecord) -> Record {
        Record([
            ("group", .id(Int(debt.group))), ("debtor", .id(Int(debt.debtor))),
            ("creditor", .id(Int(debt.creditor))), ("amount", cell(debt.amount, in: debt.currency)),
            ("currency", .text(debt.currency)),
        ])
    }

    static func record(_ monthEnd: MonthEndRecord) -> Record {
        Record([
            ("zone", .text(monthEnd.zone)), ("groups", .int(monthEnd.groups)),
            ("month_end", .optional(monthEnd.next) { .text($0) }),
            ("at", .optional(monthEnd.nextAt) { $0.cell }),
            ("last_month_end", .optional(monthEnd.last) { .text($0) }),
            ("notified_at", .optional(monthEnd.sendDecidedAt) { $0.cell }),
            ("untold", .int(monthEnd.untold)),
        ])
    }

    static func record(_ chore: ChoreRecord) -> Record {
        let state: Style = chore.state == "overdue" ? .yellow : .cyan
        return Record([
            ("id", .id(Int(chore.id))), ("title", .text(chore.title)),
            ("rule", .optional(chore.rule) { .text($0) }), ("mode", .text(chore.mode)),
            ("after_days", .optional(chore.afterDays) { .int($0) }),
            ("starts_on", .optional(chore.startsOn) { .text($0) }),
            ("at_time", .optional(chore.atTime) { .text($0) }),
            ("turn", .optional(chore.turn) { .id(Int($0)) }),
            ("state", .optional(chore.state) { .marked($0, state) }),
            ("assignee", .optional(chore.assignee) { .id(Int($0)) }),
            ("due_on", .optional(chore.dueOn) { .text($0) }),
            ("due_at", .optional(chore.dueAt) { $0.cell }),
            ("next_on", .optional(chore.nextOn) { .text($0) }),
            ("next_at", .optional(chore.nextAt) { $0.cell }),
            ("next_assignee", .optional(next(chore)) { .id(Int($0)) }),
            ("rotation", rotation(chore)), ("taken", .int(chore.taken)),
            ("fault", .optional(chore.fault) { .marked($0, .red) }),
        ])
    }

    /// The person who would get the next turn now.
    private static func next(_ chore: ChoreRecord) -> Int64? {
        chore.rotation.first { !$0.isAway }?.person
    }

    /// In a table, each person with their number of turns, such as `3×4 5×3`.
    private static func rotation(_ chore: ChoreRecord) -> Cell {
        let brief = chore.rotation.map { turn in
            "\(turn.person)×\(turn.turns)" + (turn.isAway ? " (away)" : "")
        }
        let records = chore.rotation.map { turn in
            Record([
                ("person", .id(Int(turn.person))), ("turns", .int(turn.turns)),
                ("turns_owed", .int(turn.owed)), ("is_away", .flag(turn.isAway)),
            ])
        }
        return .brief(.list(brief), of: .records(records))
    }

    static func record(_ event: FeedRecord) -> Record {
        Record([
            ("number", .id(Int(event.number))), ("at", event.at.cell),
            ("event", .text(event.kind)), ("person", .optional(event.person) { .id(Int($0)) }),
            ("data", .json(event.data)),
        ])
    }

    static func record(_ period: ChoreStatistics) -> Record {
        Record([
            ("begins_on", .text(period.beginsOn)), ("person", .id(Int(period.person))),
            ("assigned", .int(period.assigned)), ("done", .int(period.done)),
            ("done_late", .int(period.late)), ("for_others", .int(period.forOthers)),
            ("skipped", .int(period.skipped)), ("missed", .int(period.missed)),
        ])
    }
}
