import ErrandCommand

/// The field names of votes.
enum VoteFieldNames {
    static let all: [FieldName] = [
        ("initiator", "the id of the person who opened the vote"),
        ("initiator_name", "the name of the person who opened the vote"),
        ("opens_at", "the time from which on ballots are accepted"),
        ("closes_at", "the deadline for ballots"),
        ("expected_voters", "the number of ballots that closes a vote early"),
        ("participants", "the number of people who have joined"),
        ("has_password", "whether joining requires a password"),
        ("asks_address", "whether joining requires an address"),
        ("place", "the place of a vote"),
        ("closed_for", "complete (all have voted), deadline or by_hand"),
        ("review_until", "the deadline for resolving equal names"),
        ("open_exceptions", "the number of unresolved equal names"),
        ("cast", "the number of participants who have cast a ballot"),
        ("ballots", "the number of ballots that count, in total or for an option"),
        ("has_unresolved", "whether equal names were left unresolved"),
        ("root", "the root of the Merkle tree over the ballots, in hexadecimal"),
        ("options", "the options of the vote"),
        ("label", "the label of the option"),
        ("name_key", "the normalized name, for comparison"),
        ("is_rejected", "whether the ballot was excluded from the count"),
        ("is_included", "whether the ballot is in the result"),
        ("position", "the position of the ballot in the tree, from 0"),
        ("path", "the Merkle path from the ballot to the root, lowest hash first"),
        ("votes", "the number of votes"),
        ("subject", "the subject of the vote"),
        ("number", "the number of the option"),
        ("closed_at", "the time the vote was closed"),
        ("published_at", "the time the result was published"),
        ("address", "the address that the voter entered"),
    ]
}
