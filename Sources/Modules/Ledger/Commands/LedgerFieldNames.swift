import ErrandCommand

/// The field names of records of the ledger and of rewards.
enum LedgerFieldNames {
    static let all: [FieldName] = [
        ("balance", "balance in minor units (cents); positive: a credit"),
        ("amount", "amount in minor units (cents); positive: credits the account"),
        ("debit", "debit balance in minor units"),
        ("credit", "credit balance in minor units"),
        ("currency", "ISO 4217 code of the currency"),
        ("account", "the id of an account of the ledger"),
        ("account_kind", "kind of the account: person, establishment, commission, ..."),
        ("account_owner", "the id of the person or establishment that owns the account"),
        ("transaction", "the id of a transaction of the ledger"),
        ("source", "origin of a reward, such as survey:12, or of a value"),
        ("idempotency_key", "key that prevents a repeated transaction"),
        ("actor", "the operator or database role that acted"),
        ("made_at", "when the record was written"),
        ("reverses", "the transaction that this one reverses"),
        ("reversed_by", "the transaction that reverses this one"),
        ("lines", "lines of a transaction; of a person: lines since the last payout"),
        ("next_pay_date", "next pay date of rewards"),
        ("last_payout", "amount of the last payout in minor units"),
        ("last_payout_at", "effective time of the last payout"),
        ("accounts", "number of accounts proved"),
        ("transactions", "number of transactions proved"),
        ("postings", "number of postings proved"),
        ("faults", "number of faults found"),
        ("examples", "description of the first faults"),
    ]
}
