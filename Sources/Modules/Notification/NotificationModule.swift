package import ErrandCommand
import ErrandKeys
import ErrandDelivery
package import ErrandSealing

/// Notices for people, and events for other servers.
package struct NotificationModule: Module, SealingModule {
    package let migrations = MigrationLine(
        module: "notification", needs: ["people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let sealedColumns = WebhookEndpoints.sealed
    package var fieldNames: [FieldName] { NotificationFieldNames.all }
    package var commands: [Command] { NotificationCommands.all + WebhookCommands.all }
    package let nouns = [
        "notification": "List, explain, preview and withdraw notices",
        "webhook": "Add, list, test and change the endpoints of events",
    ]

    package var variables: [VariableName] { NotificationVariables.all }

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let catalogue = try NoticeCatalogue.of(setup)
        kinds.declare(try catalogue.declaration())
        NoticeDecisionJobs(catalogue).add(to: &kinds)
        switch setup.purpose {
        case .listing:
            kinds.handle(EmailDelivery.self) { _, _ in }
            kinds.handle(PushDelivery.self) { _, _ in }
            kinds.handle(DirectMail.self) { _, _ in }
            kinds.handle(WebhookDelivery.self) { _, _ in }
        case .scheduling: break
        case .working: try addDeliveries(to: &kinds, for: setup, catalogue)
        }
    }

    /// Registers the deliveries of the channels that are set up.
    private func addDeliveries(
        to kinds: inout JobKinds, for setup: ModuleSetup, _ catalogue: NoticeCatalogue
    ) throws {
        let channels = try ChannelSettings(setup.environment)
        for channel in channels.summary {
            guard let words = channel.words else { continue }
            setup.log.info("sending notices by \(channel.provider): \(words)")
        }
        let providers = channels.channels(setup.log)
        Deliveries(
            catalogue, channels: providers, unsubscribePage: channels.unsubscribePage
        ).add(to: &kinds)
        DirectMails(catalogue, by: providers[Provider.mail]).add(to: &kinds)
        if let webhooks = try WebhookChannel(setup.environment) {
            webhooks.webhooks().add(to: &kinds)
            setup.log.info("sending webhooks, \(webhooks.words)")
        } else if setup.queues.contains(WebhookDelivery.options.queue) {
            setup.log.warning("this worker sends no webhooks: \(KeySettings.variable) is not set")
        }
    }

    package func settings(forKind kind: String, queue: String) -> String? {
        switch kind {
        case EmailDelivery.kind, DirectMail.kind: ChannelSettings.needed(for: Provider.mail)
        case PushDelivery.kind: ChannelSettings.needed(for: queue)
        case WebhookDelivery.kind: KeySettings.variable
        default: nil
        }
    }

    package func metrics(of context: ModuleContext) async throws -> [MetricFamily] {
        try await WebhookMetrics.families(context.session)
    }

    package func findings(of context: ModuleContext) async -> [Finding] {
        await DoctorChannels.findings(of: context) + DoctorKinds.findings(of: context)
            + DoctorWebhooks.findings(of: context)
    }
}
