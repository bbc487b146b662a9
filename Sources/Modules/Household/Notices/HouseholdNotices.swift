package import ErrandNotification

extension NoticeKind.App {
    static let household = NoticeKind.App("household")
}

/// The kinds of notice of the household app: room-mates, chores, bills and debts.
extension NoticeKind {
    static let household = [
        householdJoined, householdLeft, householdAway, householdBack, householdGroupChanged,
        householdChoreAdded, householdChoreChanged, householdChoreRemoved, householdChoreDone,
        householdChoreSkipped, householdChoreTakenOver, householdRotationChanged,
        householdTurnsForgiven, householdGoingShopping, householdNoteAdded, householdNoteRemoved,
        householdBillAdded, householdBillEdited, householdBillRemoved, householdTripCompleted,
        householdTripEdited,
        householdTripRemoved, householdPaid, householdPaymentUndone, householdInvited,
        householdInvitationDeclined, householdInvitationLapsed, householdChoreDue,
        householdChoreOverdue, householdChoreHandedOver, householdChoreReminder,
        householdChoreFault, householdDebtReminder, householdBalances, householdSessionFailed,
    ]

    /// Somebody has moved in.
    package static let householdJoined = NoticeKind(
        "household.joined", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "group": .text])

    /// Somebody has moved out.
    package static let householdLeft = NoticeKind(
        "household.left", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "group": .text])

    /// Somebody is away, and chores go to the others.
    package static let householdAway = NoticeKind(
        "household.away", app: .household, channels: [.push, .inbox],
        fields: ["by": .text])

    /// Somebody is back.
    package static let householdBack = NoticeKind(
        "household.back", app: .household, channels: [.push, .inbox],
        fields: ["by": .text])

    /// The name or the zone of their group was changed.
    package static let householdGroupChanged = NoticeKind(
        "household.group_changed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "group": .text])

    /// There is a new chore.
    package static let householdChoreAdded = NoticeKind(
        "household.chore_added", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// A chore was changed.
    package static let householdChoreChanged = NoticeKind(
        "household.chore_changed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// A chore was taken off.
    package static let householdChoreRemoved = NoticeKind(
        "household.chore_removed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Somebody has done a chore.
    package static let householdChoreDone = NoticeKind(
        "household.chore_done", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Somebody lets a turn be.
    package static let householdChoreSkipped = NoticeKind(
        "household.chore_skipped", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Somebody takes a turn of another one.
    package static let householdChoreTakenOver = NoticeKind(
        "household.chore_taken_over", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Others take turns at a chore, or in another order.
    package static let householdRotationChanged = NoticeKind(
        "household.rotation_changed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Turns that somebody owed are forgiven.
    package static let householdTurnsForgiven = NoticeKind(
        "household.turns_forgiven", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text])

    /// Somebody goes shopping now.
    package static let householdGoingShopping = NoticeKind(
        "household.going_shopping", app: .household, channels: [.push, .inbox],
        fields: ["by": .text])

    /// There is a new note on the board.
    package static let householdNoteAdded = NoticeKind(
        "household.note_added", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "body": .text])

    /// Somebody has taken their note off the board.
    package static let householdNoteRemoved = NoticeKind(
        "household.note_removed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text])

    /// There is a bill of which they pay, or bear, some.
    package static let householdBillAdded = NoticeKind(
        "household.bill_added", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text, "amount": .amount, "share": .amount])

    /// Such a bill was changed, and split again.
    package static let householdBillEdited = NoticeKind(
        "household.bill_edited", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text, "amount": .amount, "share": .amount])

    /// Such a bill was removed.
    package static let householdBillRemoved = NoticeKind(
        "household.bill_removed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "title": .text, "amount": .amount])

    /// Somebody was shopping, and what it cost is split.
    package static let householdTripCompleted = NoticeKind(
        "household.trip_completed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "amount": .amount, "share": .amount])

    /// The cost of such a trip is split again.
    package static let householdTripEdited = NoticeKind(
        "household.trip_edited", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "amount": .amount, "share": .amount])

    /// Such a trip was removed.
    package static let householdTripRemoved = NoticeKind(
        "household.trip_removed", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "amount": .amount])

    /// A payment between them and another one was noted.
    package static let householdPaid = NoticeKind(
        "household.paid", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "amount": .amount])

    /// Such a payment was taken back.
    package static let householdPaymentUndone = NoticeKind(
        "household.payment_undone", app: .household, channels: [.push, .inbox],
        fields: ["by": .text, "amount": .amount])

    /// They are asked to move into a group.
    package static let householdInvited = NoticeKind(
        "household.invited", app: .household, channels: [.push, .email, .inbox],
        fields: ["by": .text, "group": .text, "until": .time])

    /// Whom they invited does not come.
    package static let householdInvitationDeclined = NoticeKind(
        "household.invitation_declined", app: .household, channels: [.push, .inbox],
        fields: ["group": .text])

    /// Whom they invited has not answered in time.
    package static let householdInvitationLapsed = NoticeKind(
        "household.invitation_lapsed", app: .household, channels: [.push, .inbox],
        fields: ["group": .text])

    /// It is their turn at a chore.
    package static let householdChoreDue: NoticeKind = {
        var kind = NoticeKind(
            "household.chore_due", app: .household, channels: [.push, .inbox],
            fields: ["title": .text, "due_on": .day, "due_at": .time])
        kind.timing = .ownTimeBefore("due_at")
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// They have not done a chore in time.
    package static let householdChoreOverdue: NoticeKind = {
        var kind = NoticeKind(
            "household.chore_overdue", app: .household, channels: [.push, .inbox],
            fields: ["title": .text, "due_on": .day])
        kind.timing = .ownTime
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A turn of somebody who is not there goes to them.
    package static let householdChoreHandedOver = NoticeKind(
        "household.chore_handed_over", app: .household, channels: [.push, .inbox],
        fields: ["title": .text, "due_on": .day])

    /// A room-mate reminds them of their turn.
    package static let householdChoreReminder: NoticeKind = {
        var kind = NoticeKind(
            "household.chore_reminder", app: .household, channels: [.push, .inbox],
            fields: ["by": .text, "title": .text, "due_on": .day])
        kind.isReminder = true
        return kind
    }()

    /// A chore of their group does not come any more, until one of them changes it.
    package static let householdChoreFault = NoticeKind(
        "household.chore_fault", app: .household, channels: [.push, .inbox],
        fields: ["title": .text, "reason": .text])

    /// A room-mate reminds them of what they owe.
    package static let householdDebtReminder: NoticeKind = {
        var kind = NoticeKind(
            "household.debt_reminder", app: .household, channels: [.push, .inbox],
            fields: ["by": .text, "amount": .amount])
        kind.isReminder = true
        return kind
    }()

    /// Their debts in all groups at the end of a month, on its last day.
    package static let householdBalances: NoticeKind = {
        var kind = NoticeKind(
            "household.balances", app: .household, channels: [.push, .email, .inbox],
            fields: ["groups": .list, "month_end": .day, "total": .amounts, "items": .list])
        kind.timing = .ownTime
        kind.mailsOnlyWithoutPush = true
        return kind
    }()

    /// A session of theirs could not prove that it is theirs.
    package static let householdSessionFailed = NoticeKind(
        "household.session_failed", app: .household, channels: [.push, .email, .inbox],
        fields: ["at": .time])
}
