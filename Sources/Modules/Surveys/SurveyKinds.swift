package import ErrandCrypto
package import Errand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// The job kinds of the survey module.
package enum SurveyKinds {
    /// The sealed columns of the module's tables.
    package static let sealed = [
        SealedColumn(
            "surveys.receipt_keys", "sealed",
            key: [.init("establishment_id", "bigint"), .init("version", "int")],
            context: ReceiptKey.contextInSQL)
    ]

    /// Registers the kinds and their schedules.
    ///
    /// - Parameters:
    ///   - catalogue: the notices and their templates.
    ///   - keys: the keys that seal receipt keys; without keys other workers create them.
    package static func add(
        to kinds: inout JobKinds, notices catalogue: NoticeCatalogue, sealing keys: SealingKeys?
    ) {
        kinds.handle(RemindOfSurveys.self) { _, context in
            try await SurveyReminders.handle(context, notices: catalogue)
        }
        kinds.handle(ExpireInvitations.self) { _, context in
            try await ExpireInvitations.run(context)
        }
        kinds.handle(SampleAnswers.self) { _, context in try await SampleAnswers.run(context) }
        do {
            kinds.schedule(try RemindOfSurveys.schedule())
            kinds.schedule(try ExpireInvitations.schedule())
            kinds.schedule(try SampleAnswers.schedule())
            if let keys { try addKeys(to: &kinds, sealing: keys) }
        } catch { preconditionFailure("\(error)") }
    }

    private static func addKeys(to kinds: inout JobKinds, sealing keys: SealingKeys) throws {
        kinds.handle(PrepareReceiptKeys.self) { _, context in
            let result = try await ReceiptKeyPool(sealing: keys, log: context.log)
                .run(in: context.database)
            guard result.opened > 0 else { return }
            context.log.with("keys", result.opened).warning(
                "reopened receipt keys that PostgreSQL had lost in a crash")
        }
        kinds.schedule(try PrepareReceiptKeys.schedule())
    }
}
