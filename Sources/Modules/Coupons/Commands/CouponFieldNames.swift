import ErrandCommand

/// The names in records of coupons and their codes.
enum CouponFieldNames {
    static let all: [FieldName] = [
        ("establishment", "the id of the establishment"),
        ("establishment_name", "its name"),
        ("valid_from", "the coupon is refused before"),
        ("starred_at", "since when its person has it at the top"),
        ("redeemed_at", "when the coupon was redeemed"),
        ("voided_at", "since when the coupon is worthless"),
        ("voided_reason", "why, as its person may read it"),
        ("radius_m", "so near a branch, in metres, its person is told"),
        ("confirmation", "what the till prints and the person is told"),
        ("terminal", "the till of the establishment"),
        ("request_id", "the same when the till asks again"),
        ("notices", "what its person was told of it, the newest first"),
        ("payload_until", "when the QR code turns; null when that is not known"),
        ("typed", "the code to be typed"),
        ("typed_until", "when the code to be typed turns; null when that is not known"),
        ("is_accepted", "whether the code is good, or was just redeemed"),
        ("ask_again_at", "nothing of this till is looked at before"),
        ("format", "png, svg or terminal"),
        ("series", "which codes: qr or typed"),
        ("good_until", "the codes of the epoch are taken until then"),
        ("slot", "the place of the epoch in a cycle of 32"),
        ("destroyed", "secrets that were destroyed"),
        ("opened", "secrets that were opened anew"),
        ("guesses", "wrong codes within five minutes"),
        ("origin", "what earned a coupon"),
        ("starts_at", "codes of an epoch are shown from then on"),
        ("ends_at", "of an epoch: the next one starts"),
        ("made", "secrets of new epochs"),
        ("title", "of the coupon"),
        ("is_open", "whether the secret of an epoch is there"),
        ("expires_at", "the coupon is worth nothing from then on"),
        ("payload", "the text of a coupon's QR code"),
    ]
}
