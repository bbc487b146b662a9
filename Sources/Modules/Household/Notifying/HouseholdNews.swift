import ErrandNotification
import ErrandPostgres

/// The events of a household, by their names in the schema.
enum HouseholdNews: String, CaseIterable, Sendable {
    // Sent to all others of the group.
    case joined, left, away, back
    case groupChanged = "group_changed"
    case choreAdded = "chore_added"
    case choreChanged = "chore_changed"
    case choreRemoved = "chore_removed"
    case choreDone = "chore_done"
    case choreSkipped = "chore_skipped"
    case choreTakenOver = "chore_taken_over"
    case rotationChanged = "rotation_changed"
    case turnsForgiven = "turns_forgiven"
    case goingShopping = "going_shopping"
    case noteAdded = "note_added"
    // To its author.
    case noteRemoved = "note_removed"
    // To those whom a bill concerns; of a trip, to all.
    case billAdded = "bill_added"
    case billEdited = "bill_edited"
    case billRemoved = "bill_removed"
    case tripCompleted = "trip_completed"
    case tripEdited = "trip_edited"
    case tripRemoved = "trip_removed"
    // To one other.
    case paid
    case paymentUndone = "payment_undone"
    case invited
    case invitationDeclined = "invitation_declined"
    case invitationLapsed = "invitation_lapsed"
    // To whose turn it is.
    case choreDue = "chore_due"
    case choreOverdue = "chore_overdue"
    case choreHandedOver = "chore_handed_over"
    case choreReminder = "chore_reminder"
    // To whom else it concerns.
    case choreFault = "chore_fault"
    case debtReminder = "debt_reminder"
    case balances
    case sessionFailed = "session_failed"

    /// Whether a person asks that others are reminded.
    var isAsked: Bool { self == .choreReminder || self == .debtReminder }

    /// Whether it changes what people owe.
    var movesMoney: Bool {
        switch self {
        case .billAdded, .billEdited, .billRemoved, .tripCompleted, .tripEdited, .tripRemoved,
            .paid, .paymentUndone:
            true
        default: false
        }
    }

    /// How long its notice is valid, unless something else ends it.
    var validity: Duration {
        switch self {
        case .goingShopping: .seconds(3_600)
        case .choreOverdue, .choreReminder, .debtReminder: .seconds(2 * 86_400)
        default: .seconds(7 * 86_400)
        }
    }

    var kind: NoticeKind {
        switch self {
        case .joined: .householdJoined
        case .left: .householdLeft
        case .away: .householdAway
        case .back: .householdBack
        case .groupChanged: .householdGroupChanged
        case .choreAdded: .householdChoreAdded
        case .choreChanged: .householdChoreChanged
        case .choreRemoved: .householdChoreRemoved
        case .choreDone: .householdChoreDone
        case .choreSkipped: .householdChoreSkipped
        case .choreTakenOver: .householdChoreTakenOver
        case .rotationChanged: .householdRotationChanged
        case .turnsForgiven: .householdTurnsForgiven
        case .goingShopping: .householdGoingShopping
        case .noteAdded: .householdNoteAdded
        case .noteRemoved: .householdNoteRemoved
        case .billAdded: .householdBillAdded
        case .billEdited: .householdBillEdited
        case .billRemoved: .householdBillRemoved
        case .tripCompleted: .householdTripCompleted
        case .tripEdited: .householdTripEdited
        case .tripRemoved: .householdTripRemoved
        case .paid: .householdPaid
        case .paymentUndone: .householdPaymentUndone
        case .invited: .householdInvited
        case .invitationDeclined: .householdInvitationDeclined
        case .invitationLapsed: .householdInvitationLapsed
        case .choreDue: .householdChoreDue
        case .choreOverdue: .householdChoreOverdue
        case .choreHandedOver: .householdChoreHandedOver
        case .choreReminder: .householdChoreReminder
        case .choreFault: .householdChoreFault
        case .debtReminder: .householdDebtReminder
        case .balances: .householdBalances
        case .sessionFailed: .householdSessionFailed
        }
    }

    /// Reads the recipients: `person_id`, `subject`, `data`, and where they differ from what the
    /// news have, `event` and `expires_at`.
    func statement(of job: NotifyHousehold, now: Instant) -> Statement {
        let (group, person) = (Parameter.optional(job.groupID), Parameter.optional(job.personID))
        switch self {
        case .joined, .left, .away, .back, .groupChanged, .choreAdded, .choreChanged,
            .choreRemoved, .choreDone, .choreSkipped, .choreTakenOver, .rotationChanged,
            .turnsForgiven, .goingShopping, .noteAdded:
            return Statement(
                NewsStatements.others,
                [
                    .text(rawValue), group, person, .optional(job.number),
                    .optional(job.choreID), .optional(job.occurrenceID), .optional(job.noteID),
                    .timestamp(now), .optional(job.at),
                ])
        case .noteRemoved:
            return Statement(
                NewsStatements.author,
                [group, person, .optional(job.number), .int64Array(job.to ?? [])])
        case .billAdded, .billEdited, .tripCompleted, .tripEdited:
            return Statement(
                NewsStatements.bill,
                [
                    .optional(job.billID), person, .bool(false), .int32(job.revision ?? 1),
                    .optional(job.payerID),
                ])
        case .billRemoved, .tripRemoved:
            return Statement(
                NewsStatements.bill, [.optional(job.billID), person, .bool(true), .null, .null])
        case .paid, .paymentUndone:
            return Statement(
                NewsStatements.payment,
                [.optional(job.paymentID), person, .bool(self == .paymentUndone)])
        case .invited, .invitationDeclined, .invitationLapsed:
            let state =
                switch self {
                case .invitationDeclined: "declined"
                case .invitationLapsed: "lapsed"
                default: "sent"
                }
            return Statement(
                NewsStatements.invitation, [.optional(job.invitationID), .text(state)])
        case .choreDue, .choreOverdue, .choreHandedOver, .choreReminder:
            let turns = job.occurrenceIDs ?? job.occurrenceID.map { [$0] } ?? []
            return Statement(
                NewsStatements.turns,
                [.text(rawValue), .int64Array(turns), person, .optionalArray(job.to)])
        case .choreFault:
            return Statement(
                NewsStatements.fault, [.optional(job.choreID), .optional(job.plan)])
        case .debtReminder:
            return Statement(
                NewsStatements.debts, [group, person, .int64Array(job.to ?? [])])
        case .balances:
            return Statement(
                NewsStatements.balances,
                [
                    .int64Array(job.groupIDs ?? []), .optional(job.monthEnd), .timestamp(now),
                    person,
                ])
        case .sessionFailed:
            return Statement(NewsStatements.session, [person, .optional(job.session)])
        }
    }
}

extension Parameter {
    fileprivate static func optionalArray(_ values: [Int64]?) -> Parameter {
        values.map(Parameter.int64Array) ?? .null
    }
}
