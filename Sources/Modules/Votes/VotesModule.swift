package import ErrandCommand
import ErrandKeys
package import ErrandNotification
package import ErrandSealing

/// Anonymous votes among people in one place.
package struct VotesModule: Module, NotifyingModule, SealingModule {
    package let migrations = MigrationLine(
        module: "votes", needs: ["notification", "people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let extensions = ["pgcrypto", "postgis"]
    package let notices = NoticeKind.vote
    package let noticeTexts = EmbeddedFiles.notices
    package let sealedColumns = VoteKinds.sealed
    package var fieldNames: [FieldName] { VoteFieldNames.all }
    package var commands: [Command] { VoteCommands.all }
    package let nouns = [
        "vote": "Show votes and results, resolve equal names, verify receipts"
    ]

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let keys = try KeySettings.keys(setup.environment)
        VoteKinds.add(to: &kinds, notices: try NoticeCatalogue.of(setup), sealing: keys)
        if setup.purpose == .listing { kinds.handle(PrepareKeys.self) { _, _ in } }
        if keys == nil, setup.queues.contains(PrepareKeys.options.queue) {
            setup.log.info(
                "this worker creates no keys of votes: \(KeySettings.variable) is not set")
        }
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorVotes.findings(of: context)
    }
}
