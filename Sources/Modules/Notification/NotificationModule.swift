package import ErrandCommand
import ErrandKeys
import ErrandDelivery
package import ErrandSealing

/// What people are told, and events for other people's servers.
package struct NotificationModule: Module, SealingModule {
    package let migrations = MigrationLine(
        module: "notification", needs: ["people"],
        files: EmbeddedFiles.migrations.map { .init($0.path, $0.text) })
    package let sealedColumns = WebhookEndpoints.sealed
    package var fieldNames: [FieldName] { NotificationFieldNames.all }
    package var commands: [Command] { NotificationCommands.all + WebhookCommands.all }
    package let nouns = [
        "notification": "Look at notices, say why people are told or not, and preview their words",
        "webhook": "Send events to other people's servers: add, try, look at and change endpoints",
    ]

    package var variables: [VariableName] { NotificationVariables.all }

    package init() {}

    package func register(in kinds: inout JobKinds, for setup: ModuleSetup) throws {
        let catalogue = try NoticeCatalogue.of(setup)
        Deciding(catalogue).add(to: &kinds)
        switch setup.purpose {
        case .listing:
            kinds.handle(EmailDelivery.self) { _, _ in }
            kinds.handle(PushDelivery.self) { _, _ in }
            kinds.handle(WebhookDelivery.self) { _, _ in }
        case .scheduling: break
        case .working: try addDeliveries(to: &kinds, for: setup, catalogue)
        }
    }

    /// Deliveries by the channels that are set up.
    private func addDeliveries(
        to kinds: inout JobKinds, for setup: ModuleSetup, _ catalogue: NoticeCatalogue
    ) throws {
        let channels = try ChannelSettings(setup.environment)
        for channel in channels.summary {
            guard let words = channel.words else { continue }
            setup.log.info("notices leave by \(channel.provider): \(words)")
        }
        Deliveries(
            catalogue, channels: channels.channels(setup.log),
            unsubscribePage: channels.unsubscribePage
        ).add(to: &kinds)
        if let webhooks = try WebhookChannel(setup.environment) {
            webhooks.webhooks().add(to: &kinds)
            setup.log.info("webhooks leave, \(webhooks.words)")
        } else if setup.queues.contains(WebhookDelivery.options.queue) {
            setup.log.warning("no webhook leaves from here: \(KeySettings.variable) is not set")
        }
    }

    package func settings(forKind kind: String, queue: String) -> String? {
        switch kind {
        case EmailDelivery.kind: ChannelSettings.needed(for: Provider.mail)
        case PushDelivery.kind: ChannelSettings.needed(for: queue)
        case WebhookDelivery.kind: KeySettings.variable
        default: nil
        }
    }

    package func metrics(of checkup: Checkup) async throws -> [MetricFamily] {
        try await WebhookMetrics.families(checkup.session)
    }

    package func findings(of checkup: Checkup) async -> [Finding] {
        await DoctorChannels.findings(of: checkup) + DoctorWebhooks.findings(of: checkup)
    }
}
