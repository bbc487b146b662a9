package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// Coupons that people hold, the codes by which they are redeemed, and who hears of them near by.
package struct CouponsModule: Module, NotifyingModule, SealingModule {
    package let migrations = MigrationLine(
        module: "coupons", needs: ["establishments", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let extensions = ["postgis"]
    package let notices = NoticeKind.coupon
    package let noticeTexts = EmbeddedFiles.notices
    package let sealedColumns = CouponKinds.sealed
    package var fieldNames: [FieldName] { CouponFieldNames.all }
    package var commands: [Command] { CouponCommands.all }
    package let nouns = [
        "coupon": "Look at coupons, show and check their codes, redeem, grant and void them"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let keys = try KeySettings.keys(setup.environment)
        CouponKinds.add(to: &kinds, telling: try NoticeCatalogue.of(setup), sealing: keys)
        if setup.purpose == .listing { kinds.handle(RotateCodes.self) { _, _ in } }
        if keys == nil, setup.queues.contains(RotateCodes.options.queue) {
            setup.log.info(
                "codes of coupons do not turn by this worker: it has no keys; "
                    + "\(KeySettings.variable) names their file")
        }
    }

    package func findings(of checkup: Checkup) async -> [Finding] {
        await DoctorCodes.findings(of: checkup)
    }
}
