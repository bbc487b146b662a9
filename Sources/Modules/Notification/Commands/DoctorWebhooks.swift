import ErrandKeys
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of webhooks.
enum DoctorWebhooks {
    /// So many endpoints are looked at.
    private static let endpointLimit = 10_000

    static func findings(of checkup: Checkup) async -> [Finding] {
        let channel: WebhookChannel?
        do throws(CommandFailure) { channel = try WebhookChannel(checkup.environment) } catch {
            // Bad keys are a finding of their own.
            guard !error.message.hasPrefix(KeySettings.variable) else { return [] }
            return [
                Finding(
                    check: "webhooks", grade: .warning, found: error.message,
                    remedy: error.hint ?? "errand work --help")
            ]
        }
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard
            let endpoints = try? await WebhookEndpoints(session: checkup.session).list(
                owner: nil, limit: endpointLimit)
        else { return [] }
        let live = endpoints.filter { $0.disabledAt == nil }
        let words = channel?.words ?? "not set up here: \(KeySettings.variable) is not set"
        let found = "\(HumanFormat.count(live.count)) endpoints; \(words)"
        if channel == nil, !live.isEmpty {
            return [
                Finding(
                    check: "webhooks", grade: .warning, found: found,
                    remedy: "errand work --queues webhooks  # with \(KeySettings.variable) set")
            ]
        }
        let failing = live.filter { $0.failingSince != nil }
        guard failing.isEmpty else {
            return [
                Finding(
                    check: "webhooks", grade: .note,
                    found: "of \(found): \(HumanFormat.count(failing.count)) take nothing now",
                    remedy: "errand webhook ls --failing")
            ]
        }
        return [Finding(check: "webhooks", grade: .ok, found: found)]
    }
}
