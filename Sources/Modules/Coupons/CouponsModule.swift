package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// People's coupons, the rotating codes that redeem them, and notices about nearby coupons.
package struct CouponsModule: Module, NotifyingModule, SealingModule {
    package let migrations = MigrationLine(
        module: "coupons", needs: ["badges", "establishments", "notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let extensions = ["postgis"]
    package let notices = NoticeKind.coupon
    package let noticeTexts = EmbeddedFiles.notices
    package let sealedColumns = CouponKinds.sealed
    package var fieldNames: [FieldName] { CouponFieldNames.all }
    package var commands: [Command] { CouponCommands.all }
    package let nouns = [
        "coupon": "List, grant, redeem and void coupons, and manage their codes"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let keys = try KeySettings.keys(setup.environment)
        CouponKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup), sealing: keys)
        if setup.purpose == .listing { kinds.handle(RotateCodes.self) { _, _ in } }
        if keys == nil, setup.queues.contains(RotateCodes.options.queue) {
            setup.log.info(
                "this worker does not rotate coupon codes: it has no keys; "
                    + "set \(KeySettings.variable) to the key file")
        }
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorCodes.findings(of: context)
    }
}
