/// The state of a run.
package enum RunState: String, Sendable, CaseIterable {
    /// Computed but not binding; also during the close.
    case preview
    /// The payouts exist, and people's balances are debited.
    case closed
    /// A second person has approved it.
    case approved
    /// Its files exist.
    case issued
    /// The bank has paid or returned all of it.
    case settled
}

/// The state of a payout.
package enum PayoutState: String, Sendable, CaseIterable {
    /// Waits for an issue.
    case pending
    /// In a bank file or on a cheque.
    case issued
    /// The bank has paid it.
    case settled
    /// The bank or post returned it; the money is in the person's balance again.
    case returned
    /// Another payout replaces it.
    case reissued
    /// Information is missing; the money stays in the person's balance.
    case held
    /// It will not be paid; the money is in the person's balance.
    case void
}

/// The payment method of a payout.
package enum PayoutMethod: String, Sendable, CaseIterable {
    /// A deposit in Canada, by a file of Payments Canada's Standard 005.
    case aft
    /// A deposit in the United States, by a Nacha file.
    case nacha
    case cheque
}
