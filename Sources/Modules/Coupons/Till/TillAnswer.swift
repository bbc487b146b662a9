package import ErrandPostgres

/// What a till is told about a code, as `coupons.answer` has it.
package struct TillAnswer: Sendable, Equatable {
    /// Why a code is good, or not.
    package enum Reason: String, Sendable, CaseIterable {
        case ok, malformed, mistyped, unknown
        case tooOld = "too_old"
        case wrongPlace = "wrong_place"
        case voided, expired
        case notYetValid = "not_yet_valid"
        case redeemed
        case tooManyGuesses = "too_many_guesses"
        case notReady = "not_ready"

        /// For the people at the till.
        package var words: String {
            switch self {
            case .ok: "the code is good"
            case .malformed: "this is no code of a coupon"
            case .mistyped: "a character of the code is wrong"
            case .unknown: "no coupon has this code"
            case .tooOld: "the code has turned since it was shown"
            case .wrongPlace: "the coupon is another establishment's"
            case .voided: "the coupon was taken back"
            case .expired: "the coupon has expired"
            case .notYetValid: "the coupon is not valid yet"
            case .redeemed: "the coupon was redeemed before"
            case .tooManyGuesses: "too many wrong codes came from here"
            case .notReady: "the secrets of codes are not ready"
            }
        }

        /// What they can do about it.
        package var advice: String? {
            switch self {
            case .ok: nil
            case .malformed: "scan or type the code that the person's app shows"
            case .mistyped: "compare it with the original and type it again"
            case .unknown:
                "scan it again, or read it once more; further guesses lock the terminal"
            case .tooOld: "take the code that the person's app shows now: a picture is no use"
            case .wrongPlace: "only the establishment that the coupon names takes it"
            case .voided, .expired: "nobody can redeem it any more"
            case .notYetValid: "the person's app tells from when it is"
            case .redeemed:
                "a coupon is good once; a terminal that asks again does so by its request id"
            case .tooManyGuesses: "wait; nothing is looked at until then"
            case .notReady: "ask again in a second: workers that have the keys prepare them"
            }
        }
    }

    package var isAccepted: Bool
    package var reason: Reason
    /// Nil, as are the others, where a refusal must not tell which coupon it was.
    package var couponID: Int64?
    package var title: String?
    package var expiresAt: Instant?
    package var redeemedAt: Instant?
    /// What the terminal prints and the person is told; nil unless it is redeemed by this request.
    package var confirmation: String?
    /// When the terminal may ask again, if it has guessed too often.
    package var askAgainAt: Instant?

    static let columns = """
        is_accepted, reason, coupon_id, title, expires_at, redeemed_at, confirmation, ask_again_at
        """

    init(_ row: Row) throws {
        isAccepted = try row.bool("is_accepted")
        let word = try row.text("reason")
        guard let reason = Reason(rawValue: word) else {
            throw PostgresError.decoding("coupons.answer has the reason \(word)")
        }
        self.reason = reason
        couponID = try row.optionalInt64("coupon_id")
        title = try row.optionalText("title")
        expiresAt = try row.optionalTimestamp("expires_at")
        redeemedAt = try row.optionalTimestamp("redeemed_at")
        confirmation = try row.optionalText("confirmation")
        askAgainAt = try row.optionalTimestamp("ask_again_at")
    }
}
