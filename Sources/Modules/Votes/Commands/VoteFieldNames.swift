import ErrandCommand

/// The names in records of votes.
enum VoteFieldNames {
    static let all: [FieldName] = [
        ("initiator", "the id of the person who opened the vote"),
        ("opens_at", "ballots are taken from then on"),
        ("closes_at", "and until then"),
        ("expected_voters", "so many voters close a vote before its time"),
        ("participants", "people who have joined"),
        ("has_password", "whether one is asked for"),
        ("place", "where a vote is held"),
        ("closed_for", "complete (all have voted), deadline or by_hand"),
        ("review_until", "so long the initiator may decide about equal names"),
        ("open_exceptions", "names that several voters have and that are not decided"),
        ("ballots", "how many count; of an option: how many have chosen it"),
        ("has_unresolved", "whether equal names were left undecided"),
        ("root", "of the Merkle tree over the ballots, in hexadecimal"),
        ("options", "what could be chosen"),
        ("label", "the option in words"),
        ("name_key", "a name as it is compared with others"),
        ("is_rejected", "whether the ballot was left out of the count"),
        ("is_included", "whether the ballot is in the result"),
        ("position", "of a ballot in the tree, counted from 0"),
        ("path", "the hashes beside the way from a ballot to the root, the lowest first"),
        ("votes", "in how many votes"),
        ("subject", "what a vote is about"),
        ("number", "of an option"),
        ("closed_at", "when the vote ended"),
        ("published_at", "when the result came out"),
        ("address", "as a voter gave it"),
    ]
}
