import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The arguments, errors and records that the coupon commands share.
enum CouponFormatting {
    static let id = Argument.required(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The coupon's id")
    static func unknown(_ id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no coupon \(id)",
            hint: "'errand coupon ls' lists the coupons")
    }

    static func unknown(establishment id: Int) -> CommandFailure {
        CommandFailure(
            exit: .notFound, message: "there is no establishment \(id)",
            hint: "the app adds establishments with establishments.put_establishment()")
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

    /// The record of a coupon, with the field names that scripts rely on; never with a code.
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
