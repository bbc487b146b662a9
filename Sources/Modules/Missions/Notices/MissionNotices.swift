package import ErrandNotification

extension NoticeKind.App {
    /// Its users earn and spend money: their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// The kinds of notice for secret shoppers.
extension NoticeKind {
    static let mission = [
        missionOffered, missionWaiting, missionAgreed, missionDueSoon, missionUnfinished,
        missionMissed, missionHired, missionSuspended, missionDismissed, missionWithdrawn,
        missionReturned, missionPaid, missionRejected,
    ]

    /// A mission is kept for them until they answer.
    package static let missionOffered: NoticeKind = {
        var kind = NoticeKind(
            "mission.offered", app: .survey, channels: [.push, .email, .inbox],
            fields: [
                "title": .text, "branch": .text, "pay": .amount, "starts_at": .time,
                "ends_at": .time, "answer_by": .time,
            ])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// What they were offered is kept for them for a short time only.
    package static let missionWaiting: NoticeKind = {
        var kind = NoticeKind(
            "mission.waiting", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "pay": .amount, "answer_by": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A mission that they agreed to elsewhere, on the phone for example, is theirs.
    package static let missionAgreed = NoticeKind(
        "mission.agreed", app: .survey, channels: [.push, .email, .inbox],
        fields: [
            "title": .text, "branch": .text, "pay": .amount, "starts_at": .time, "ends_at": .time,
        ])

    /// A mission that they took ends soon.
    package static let missionDueSoon: NoticeKind = {
        var kind = NoticeKind(
            "mission.due_soon", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "ends_at": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// What they have begun at a branch is to be handed in soon.
    package static let missionUnfinished: NoticeKind = {
        var kind = NoticeKind(
            "mission.unfinished", app: .survey, channels: [.push, .inbox],
            fields: ["title": .text, "branch": .text, "ends_at": .time])
        kind.mergesHeld = true
        kind.listedInDigest = "title"
        return kind
    }()

    /// A mission that they took has ended without them.
    package static let missionMissed = NoticeKind(
        "mission.missed", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "ended_at": .time])

    /// They are sent on missions from now on.
    package static let missionHired = NoticeKind(
        "mission.hired", app: .survey, channels: [.push, .email, .inbox], fields: [:])

    /// They get no missions for now.
    package static let missionSuspended = NoticeKind(
        "mission.suspended", app: .survey, channels: [.push, .email, .inbox],
        fields: ["reason": .text])

    /// They get no missions any more.
    package static let missionDismissed = NoticeKind(
        "mission.dismissed", app: .survey, channels: [.push, .email, .inbox],
        fields: ["reason": .text])

    /// A mission of theirs was taken back.
    package static let missionWithdrawn = NoticeKind(
        "mission.withdrawn", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "reason": .text])

    /// What they handed in came back to them.
    package static let missionReturned = NoticeKind(
        "mission.returned", app: .survey, channels: [.push, .email, .inbox],
        fields: [
            "title": .text, "branch": .text, "reason": .text, "code": .text, "ends_at": .time,
        ])

    /// A mission of theirs was approved, and its pay is in their balance.
    package static let missionPaid = NoticeKind(
        "mission.paid", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "pay": .amount])

    /// What they handed in is worth nothing.
    package static let missionRejected = NoticeKind(
        "mission.rejected", app: .survey, channels: [.push, .email, .inbox],
        fields: ["title": .text, "branch": .text, "reason": .text, "code": .text])
}
