import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of notices.
enum DoctorChannels {
    static func findings(of context: ModuleContext) async -> [Finding] {
        settings(context.environment) + (await stranded(context.session))
    }

    /// Checks the environment of this command, which may differ from that of a worker.
    private static func settings(_ environment: [String: String]) -> [Finding] {
        do {
            let settings = try ChannelSettings(environment)
            let words = settings.summary.map { provider, words in
                "\(provider): \(words ?? "not set up here")"
            }
            let found = Finding(
                check: "channels", severity: .ok, message: words.joined(separator: "; "))
            return settings.lacksUnsubscribePage ? [found, noUnsubscribePage] : [found]
        } catch {
            let failure = error as? CommandFailure
            return [
                Finding(
                    check: "channels", severity: .warning, message: failure?.message ?? "\(error)",
                    remedy: failure?.hint ?? "errand work --help")
            ]
        }
    }

    private static var noUnsubscribePage: Finding {
        Finding(
            check: "unsubscribe", severity: .warning,
            message: "promotional mail has no unsubscribe link",
            remedy: "set ERRAND_UNSUBSCRIBE_URL=https://… (the app server's page) for all workers")
    }

    /// Checks for deliveries whose workers lack the provider.
    ///
    /// Jobs whose kind no worker handles are found by another check.
    private static func stranded(_ session: Session) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let found = try? await StrandedDeliveries.read(session) else {
            return []
        }
        guard !found.isEmpty else {
            return [
                Finding(
                    check: "deliveries", severity: .ok,
                    message: "no delivery waits for a missing channel")
            ]
        }
        return found.map { stranded in
            let many = stranded.count >= StrandedDeliveries.limit ? "at least " : ""
            return Finding(
                check: "deliveries", severity: .warning,
                message: "\(many)\(HumanFormat.count(stranded.count)) "
                    + (stranded.count == 1 ? "delivery waits" : "deliveries wait")
                    + " for \(stranded.provider), which is not set up in their worker",
                remedy: "errand work --queues \(stranded.provider)"
                    + "  # with \(ChannelSettings.needed(for: stranded.provider)) set")
        }
    }
}
