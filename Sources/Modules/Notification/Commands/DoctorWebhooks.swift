import ErrandKeys
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of webhooks.
enum DoctorWebhooks {
    /// The maximum number of endpoints to check.
    private static let endpointLimit = 10_000

    static func findings(of context: ModuleContext) async -> [Finding] {
        let channel: WebhookChannel?
        do throws(CommandFailure) { channel = try WebhookChannel(context.environment) } catch {
            // Another check reports bad keys.
            guard !error.message.hasPrefix(KeySettings.variable) else { return [] }
            return [
                Finding(
                    check: "webhooks", severity: .warning, message: error.message,
                    remedy: error.hint ?? "errand work --help")
            ]
        }
        // Other checks report unreadable tables: servers, migrations, rights.
        guard
            let endpoints = try? await WebhookEndpoints(session: context.session).list(
                owner: nil, limit: endpointLimit)
        else { return [] }
        let live = endpoints.filter { $0.disabledAt == nil }
        let words = channel?.words ?? "not set up here: \(KeySettings.variable) is not set"
        let found = "\(HumanFormat.count(live.count)) endpoints; \(words)"
        if channel == nil, !live.isEmpty {
            return [
                Finding(
                    check: "webhooks", severity: .warning, message: found,
                    remedy: "errand work --queues webhooks  # with \(KeySettings.variable) set")
            ]
        }
        let failing = live.filter { $0.failingSince != nil }
        guard failing.isEmpty else {
            return [
                Finding(
                    check: "webhooks", severity: .note,
                    message: "\(HumanFormat.count(failing.count)) failing of \(found)",
                    remedy: "errand webhook ls --failing")
            ]
        }
        return [Finding(check: "webhooks", severity: .ok, message: found)]
    }
}
