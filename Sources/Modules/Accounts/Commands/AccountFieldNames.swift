import ErrandCommand

/// The field names of accounts.
enum AccountFieldNames {
    static let all: [FieldName] = [
        ("purpose", "what a code is for: sign_in or verify_address"),
        ("address", "the mail address for which it was requested"),
        ("person", "the id of the person"),
        ("inviter", "the id of the person who invites"),
        ("wrong_tries", "the number of wrong codes that were entered"),
        ("requested_at", "when it was requested"),
        ("sent_at", "when it was sent, or it was found that nobody gets it"),
        ("reminded_at", "when the reminder of the invitation was sent"),
        ("template", "where the links lead; {token} stands for the token"),
        ("deleted", "the number of codes and links that were deleted"),
    ]
}
