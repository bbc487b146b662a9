package import ErrandNotification

extension NoticeKind.App {
    /// Its users earn and spend money: their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// What people are told of their payouts.
extension NoticeKind {
    static let payout = [payoutHeld, payoutIssued, payoutReturned]

    /// Something is missing to pay them what they have earned.
    package static let payoutHeld = NoticeKind(
        "payout.held", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])

    /// Their earnings are on the way; `cheque` is its number, empty for a direct deposit.
    package static let payoutIssued = NoticeKind(
        "payout.issued", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "cheque": .text, "pay_date": .day])

    /// A payout came back, and the money is theirs as before.
    package static let payoutReturned = NoticeKind(
        "payout.returned", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])
}
