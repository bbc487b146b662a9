import ErrandCoupons
import Errand
import ErrandPostgres
import ErrandTerminal

/// What the commands about coupons have in common.
enum CouponWords {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The coupon's id")
    static let cursor = Option<Int?>.integer(
        "cursor", range: 1...Int.max, placeholder: "ID",
        help: "Go on behind this id, with which the last page ended")
    static let limit = Option.integer(
        "limit", default: 50, range: 1...100_000, help: "At most so many")

    /// A text of the database's that has a longest length.
    static func text(_ placeholder: String, upTo longest: Int) -> ValueFormat<String> {
        ValueFormat(placeholder, expected: "1 to \(longest) characters in one line") { text in
            let characters = text.unicodeScalars
            let isLine = !characters.contains { $0.properties.generalCategory == .control }
            return (1...longest).contains(characters.count) && isLine ? text : nil
        }
    }

    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no coupon \(id)",
            hint: "'errand coupon ls' lists what there is")
    }

    static func unknown(establishment id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no establishment \(id)",
            hint: "establishments are rows of coupons.establishments; the app that has them adds "
                + "them")
    }

    static func state(_ state: CouponState) -> Cell {
        let style: Style =
            switch state {
            case .usable: .green
            case .redeemed, .notYetValid: .cyan
            case .expired: .dim
            case .voided: .yellow
            }
        return .marked(state.rawValue, style)
    }

    /// A coupon with the names that scripts rely on; never with a code.
    static func record(_ coupon: CouponRecord) -> Record {
        Record([
            ("id", .id(Int(coupon.id))), ("person", .id(Int(coupon.personID))),
            ("establishment", .id(Int(coupon.establishmentID))),
            ("establishment_name", .text(coupon.establishment)), ("title", .text(coupon.title)),
            ("state", state(coupon.state)), ("valid_from", coupon.validFrom.cell),
            ("expires_at", coupon.expiresAt.cell),
            ("starred_at", .optional(coupon.starredAt) { $0.cell }),
            ("redeemed_at", .optional(coupon.redeemedAt) { $0.cell }),
            ("voided_at", .optional(coupon.voidedAt) { $0.cell }),
            ("voided_reason", .optional(coupon.voidedReason) { .text($0) }),
            ("origin", .optional(coupon.origin) { .text($0) }),
            ("radius_m", .int(coupon.radius)),
        ])
    }
}
