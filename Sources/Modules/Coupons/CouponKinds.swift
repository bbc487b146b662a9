package import ErrandCrypto
package import Errand
package import ErrandNotification
import ErrandPostgres
package import ErrandSealing

/// The job kinds of the coupon module.
package enum CouponKinds {
    /// Maximum number of position reports per statement.
    package static let batchLimit = 500

    /// The sealed columns of the module's tables.
    package static let sealed = [
        SealedColumn(
            "coupons.epochs", "sealed",
            key: [.init("series", "text"), .init("starts_at", "timestamptz")],
            context: EpochSecret.contextInSQL)
    ]

    /// Registers the kinds and their schedules.
    ///
    /// - Parameters:
    ///   - catalogue: the notices and their templates.
    ///   - keys: the keys that seal code secrets; without keys other workers create the secrets.
    package static func add(
        to kinds: inout JobKinds, notices catalogue: NoticeCatalogue, sealing keys: SealingKeys?
    ) {
        kinds.handleBatch(PositionReport.self, upTo: batchLimit) { batch in
            try await Proximity.handle(batch, notices: catalogue)
        }
        kinds.handle(RemindOfExpiry.self) { _, context in
            try await Expiry.handle(context, notices: catalogue)
        }
        kinds.handleBatch(CouponRedeemed.self, upTo: Redeemed.batchLimit) { batch in
            try await Redeemed.handle(batch, notices: catalogue)
        }
        kinds.handle(EndExpired.self) { _, context in
            let count = try await EndExpired.run(in: context.database, now: context.now)
            context.log.with("coupons", count).info("coupons expired")
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
            await raiseAlerts(context)
            let rotation = Rotation(sealing: keys, log: context.log)
            let result = try await context.database.transaction { transaction in
                let result = try await rotation.run(in: transaction)
                try await context.complete(in: transaction)
                return result
            }
            if result.opened > 0 {
                context.log.with("secrets", result.opened).warning(
                    "reopened code secrets that PostgreSQL had lost in a crash")
            }
        }
        kinds.schedule(try RotateCodes.schedule())
    }

    /// Raises the alerts of guesses that were rolled back; a failure must not stop the rotation.
    private static func raiseAlerts(_ context: JobContext) async {
        do {
            let count = try await context.database.withSession { session in
                try await GuessAlert.raise(session)
            }
            if count > 0 {
                context.log.with("alerts", count).warning(
                    "wrong coupon codes were checked in transactions that were rolled back")
            }
        } catch {
            context.log.error("cannot raise the alerts of wrong coupon codes: \(error)")
        }
    }
}
