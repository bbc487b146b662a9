/// A payment into an account.
package struct Deposit: Sendable, Equatable {
    /// The reference that matches returned items, unique among all payments ever sent.
    ///
    /// Capital letters, digits and `-`, at most 19 in Canada, 15 in the United States. The caller
    /// ensures that it is unique; the writers keep no list of references.
    package var reference: String
    /// The person's name.
    package var payee: String
    /// Minor units, at least 1.
    package var amount: Int64
    /// The account of the person.
    package var account: BankDetails
    /// A note for the person's statement, cut to 15 letters; only in Canadian files.
    package var note: String

    /// Creates a payment.
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

/// The totals of a file, as in its control record.
package struct FileTotals: Sendable, Equatable {
    /// The number of payments.
    package var payments = 0
    /// Their sum in minor units.
    package var amount: Int64 = 0
    /// The number of records or lines, including headers, controls and padding.
    package var records = 0
}
