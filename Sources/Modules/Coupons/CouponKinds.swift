package import ErrandCrypto
package import Errand
package import ErrandNotification
import ErrandPostgres
package import ErrandSealing

/// The jobs of the coupon domain.
package enum CouponKinds {
    /// Reports looked at in one statement.
    package static let batchLimit = 500

    /// What is sealed in its tables.
    package static let sealed = [
        SealedColumn(
            "coupons.epochs", "sealed",
            key: [.init("series", "text"), .init("starts_at", "timestamptz")],
            context: EpochSecret.contextInSQL)
    ]

    /// Adds the kinds to those of a program, with their schedules.
    ///
    /// - Parameters:
    ///   - catalogue: the notices, with their words.
    ///   - keys: seal the secrets of codes; without keys other workers have to make these.
    package static func add(
        to kinds: inout JobKinds, telling catalogue: NoticeCatalogue, sealing keys: SealingKeys?
    ) {
        kinds.handleBatch(PositionReport.self, upTo: batchLimit) { batch in
            try await Proximity.handle(batch, telling: catalogue)
        }
        kinds.handle(RemindOfExpiry.self) { _, context in
            try await Expiry.handle(context, telling: catalogue)
        }
        kinds.handleBatch(CouponRedeemed.self, upTo: Redeemed.batchLimit) { batch in
            try await Redeemed.handle(batch, telling: catalogue)
        }
        kinds.handle(EndExpired.self) { _, context in
            let count = try await EndExpired.run(in: context.database, now: context.now)
            context.log.with("coupons", count).info("coupons have expired")
        }
        do {
            kinds.schedule(try expirySchedule())
            kinds.schedule(try EndExpired.schedule())
            if let keys { try addRotation(to: &kinds, sealing: keys) }
        } catch { preconditionFailure("\(error)") }
    }

    private static func addRotation(
        to kinds: inout JobKinds, sealing keys: SealingKeys
    ) throws {
        kinds.handle(RotateCodes.self) { _, context in
            let rotation = Rotation(sealing: keys, log: context.log)
            let result = try await context.database.transaction { transaction in
                let result = try await rotation.run(in: transaction)
                try await context.complete(in: transaction)
                return result
            }
            if result.opened > 0 {
                context.log.with("secrets", result.opened).warning(
                    "secrets of codes were opened anew: the database had lost them in a crash")
            }
        }
        kinds.schedule(try RotateCodes.schedule())
    }
}
