package import ErrandPostgres

/// The answer to a code, as in the type `coupons.answer`.
package struct TillAnswer: Sendable, Equatable {
    /// Why a code is accepted or refused.
    package enum Reason: String, Sendable, CaseIterable {
        case ok, malformed, mistyped, unknown
        case tooOld = "too_old"
        case wrongPlace = "wrong_place"
        case voided, expired
        case notYetValid = "not_yet_valid"
        case redeemed
        case tooManyGuesses = "too_many_guesses"
        case notReady = "not_ready"

        /// The reason as text for the staff at the till.
        package var words: String {
            switch self {
            case .ok: "the code is valid"
            case .malformed: "this is not a coupon code"
            case .mistyped: "a character of the code is wrong"
            case .unknown: "no coupon has this code"
            case .tooOld: "the code has rotated since it was shown"
            case .wrongPlace: "the coupon belongs to another establishment"
            case .voided: "the coupon was voided"
            case .expired: "the coupon has expired"
            case .notYetValid: "the coupon is not valid yet"
            case .redeemed: "the coupon was redeemed before"
            case .tooManyGuesses: "too many wrong codes were typed"
            case .notReady: "the code secrets are not ready"
            }
        }

        /// The next step.
        package var advice: String? {
            switch self {
            case .ok: nil
            case .malformed: "scan or type the code that the person's app shows"
            case .mistyped: "compare it with the original and type it again"
            case .unknown: "scan it, or type it again; wrong codes lock typed codes"
            case .tooOld: "use the code that the person's app shows now, not a screenshot"
            case .wrongPlace: "only the establishment of the coupon accepts it"
            case .voided, .expired: "it cannot be redeemed any more"
            case .notYetValid: "the person's app shows when it becomes valid"
            case .redeemed:
                "a coupon is valid once; to repeat a request, send the same request id"
            case .tooManyGuesses: "scan the code: only typed codes are refused until then"
            case .notReady: "retry in a second: workers with the keys prepare them"
            }
        }
    }

    package var isAccepted: Bool
    package var reason: Reason
    /// Nil, like the fields below, if a refusal must not reveal the coupon.
    package var couponID: Int64?
    package var title: String?
    package var expiresAt: Instant?
    package var redeemedAt: Instant?
    /// The confirmation number for the till and the person; nil unless this request redeemed it.
    package var confirmation: String?
    /// When typed codes are accepted again after too many wrong ones.
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
