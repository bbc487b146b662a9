/// What a run has gone through.
package enum RunState: String, Sendable, CaseIterable {
    /// Computed and not binding; also while it is being closed.
    case preview
    /// Its payouts are made, and their money is taken from the people's balances.
    case closed
    /// Somebody else has looked at it.
    case approved
    /// Its files are made.
    case issued
    /// The bank has paid all of it, or it came back.
    case settled
}

/// What has become of a payout.
package enum PayoutState: String, Sendable, CaseIterable {
    /// To be issued.
    case pending
    /// In a file for a bank, or on a cheque.
    case issued
    /// The bank has paid it.
    case settled
    /// It came back: the money is the person's again.
    case returned
    /// Paid by another payout, which replaces this one.
    case reissued
    /// Something is missing: the money is the person's.
    case held
    /// It was never paid, or its cheque is worthless: the money is the person's.
    case void
}

/// By what means a payout reaches its person.
package enum PayoutMethod: String, Sendable, CaseIterable {
    /// A deposit in Canada, by a file of Payments Canada's Standard 005.
    case aft
    /// A deposit in the United States, by a file of Nacha.
    case nacha
    case cheque
}
