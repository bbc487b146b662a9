import ErrandCommand

/// The field names of records of coupons and their codes.
enum CouponFieldNames {
    static let all: [FieldName] = [
        ("establishment", "the id of the establishment"),
        ("establishment_name", "the name of the establishment"),
        ("valid_from", "start of the coupon's validity"),
        ("starred_at", "when the person starred the coupon"),
        ("redeemed_at", "when the coupon was redeemed"),
        ("voided_at", "when the coupon was voided"),
        ("voided_reason", "reason for the void, visible to the person"),
        ("radius_m", "notify the person within this distance of a branch, in metres"),
        ("confirmation", "confirmation number for the till and the person"),
        ("terminal", "the till of the establishment"),
        ("request_id", "id of the redeem request, the same when a till repeats it"),
        ("notices", "notices about the coupon, newest first"),
        ("payload_until", "when the QR code rotates; null if unknown"),
        ("typed", "the code to type at a till"),
        ("typed_until", "when the typed code rotates; null if unknown"),
        ("is_accepted", "whether the code is valid, or was just redeemed"),
        ("ask_again_at", "when typed codes are accepted again"),
        ("format", "png, svg or terminal"),
        ("series", "series of the codes: qr or typed"),
        ("good_until", "end of the validity of the epoch's codes"),
        ("slot", "slot of the epoch in a cycle of 32"),
        ("destroyed", "number of destroyed secrets"),
        ("opened", "number of reopened secrets"),
        ("guesses", "wrong codes within five minutes"),
        ("origin", "reason for the grant"),
        ("starts_at", "start of the epoch"),
        ("ends_at", "start of the next epoch"),
        ("created", "number of secrets created for new epochs"),
        ("title", "title of the coupon"),
        ("is_open", "whether PostgreSQL has the secret of the epoch in memory"),
        ("expires_at", "when the coupon expires"),
        ("payload", "the text of a coupon's QR code"),
    ]
}
