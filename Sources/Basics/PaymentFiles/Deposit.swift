/// One payment into an account.
package struct Deposit: Sendable, Equatable {
    /// What returned items are matched by, unique among all payments ever sent.
    ///
    /// Capital letters, digits and `-`, at most 19 in Canada, 15 in the United States. The caller's
    /// table keeps it unique; a writer that did would need memory for all of them.
    package var reference: String
    /// The person's name as it is written.
    package var payee: String
    /// Minor units, at least 1.
    package var amount: Int64
    /// Where to.
    package var account: BankDetails
    /// What the person may see beside it, cut to 15 letters; only Canadian files have it.
    package var note: String

    /// A payment by its parts.
    package init(
        reference: String, payee: String, amount: Int64, account: BankDetails, note: String = ""
    ) {
        self.reference = reference
        self.payee = payee
        self.amount = amount
        self.account = account
        self.note = note
    }
}

/// What a file holds, as its control record says it.
package struct FileTotals: Sendable, Equatable {
    /// How many payments.
    package var payments = 0
    /// Their sum in minor units.
    package var amount: Int64 = 0
    /// How many records, or lines, with headers, controls and padding.
    package var records = 0
}
