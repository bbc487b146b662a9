package import ErrandNotification

extension NoticeKind.App {
    /// The app in which users earn and spend money; their age must be verified.
    static let survey = NoticeKind.App("survey", needsAge: true)
}

/// The notices about payouts.
extension NoticeKind {
    static let payout = [payoutHeld, payoutIssued, payoutReturned]

    /// Information is missing to pay the person's rewards.
    package static let payoutHeld = NoticeKind(
        "payout.held", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])

    /// The payout was issued; `cheque` is the cheque number, empty for a direct deposit.
    package static let payoutIssued = NoticeKind(
        "payout.issued", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "cheque": .text, "pay_date": .day])

    /// A payout was returned, and the money is in the person's balance again.
    package static let payoutReturned = NoticeKind(
        "payout.returned", app: .survey, channels: [.push, .email, .inbox],
        fields: ["amount": .amount, "reason": .text])
}
