import ErrandCommand

/// The names in records of the ledger and of rewards.
enum LedgerFieldNames {
    static let all: [FieldName] = [
        ("balance", "what an account holds, in minor units (cents); above zero a credit"),
        ("amount", "in minor units (cents); above zero it credits the account"),
        ("debit", "a balance below zero, in minor units, without its sign"),
        ("credit", "a balance above zero, in minor units"),
        ("currency", "its code of ISO 4217"),
        ("account", "the id of an account of the ledger"),
        ("account_kind", "person, establishment, commission and so on"),
        ("account_owner", "the id of the person or establishment whose account it is"),
        ("transaction", "the id of the ledger's transaction"),
        ("source", "what earned a reward, such as survey:12; where a value comes from"),
        ("idempotency_key", "by which the same is not done twice"),
        ("actor", "who did it: an operator, or a role of the database"),
        ("made_at", "when it was written down, whenever it counts from"),
        ("reverses", "the transaction that this one undoes"),
        ("reversed_by", "the transaction that undoes this one"),
        ("lines", "what each account of it gets; of a person: since the last payout"),
        ("next_pay_date", "the next day on which rewards are paid"),
        ("last_payout", "what the last payout took from the balance, in minor units"),
        ("last_payout_at", "when the last payout counts from"),
        ("accounts", "how many accounts were proved"),
        ("transactions", "how many transactions were proved"),
        ("postings", "how many lines they have"),
        ("faults", "how many of them do not prove"),
        ("examples", "the first faults, in words"),
    ]
}
