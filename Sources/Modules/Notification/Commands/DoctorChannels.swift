import Errand
import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// What the doctor looks at for the sake of notices.
enum DoctorChannels {
    static func findings(of checkup: Checkup) async -> [Finding] {
        settings(checkup.environment) + (await stranded(checkup.session))
    }

    /// The environment of this command, which need not be that of a worker.
    private static func settings(_ environment: [String: String]) -> [Finding] {
        do {
            let settings = try ChannelSettings(environment)
            let words = settings.summary.map { provider, words in
                "\(provider): \(words ?? "not set up here")"
            }
            let found = Finding(check: "channels", grade: .ok, found: words.joined(separator: "; "))
            return settings.lacksUnsubscribePage ? [found, noUnsubscribePage] : [found]
        } catch {
            let failure = error as? CommandFailure
            return [
                Finding(
                    check: "channels", grade: .warning, found: failure?.message ?? "\(error)",
                    remedy: failure?.hint ?? "errand work --help")
            ]
        }
    }

    private static var noUnsubscribePage: Finding {
        Finding(
            check: "unsubscribe", grade: .warning,
            found: "promotional mail has no link by which people get no more of it",
            remedy: "ERRAND_UNSUBSCRIBE_URL=https://… (the app server's page) for all workers")
    }

    /// Deliveries whose workers can push, and not by their provider; what no worker can do at all
    /// is found by the kinds of job.
    private static func stranded(_ session: Session) async -> [Finding] {
        // What cannot be read is found elsewhere: servers, migrations, rights.
        guard let found = try? await StrandedDeliveries.read(session) else {
            return []
        }
        guard !found.isEmpty else {
            return [
                Finding(
                    check: "deliveries", grade: .ok,
                    found: "none was left by a worker that lacks its channel")
            ]
        }
        return found.map { stranded in
            let many = stranded.count >= StrandedDeliveries.limit ? "at least " : ""
            return Finding(
                check: "deliveries", grade: .warning,
                found: "\(many)\(HumanFormat.count(stranded.count)) "
                    + (stranded.count == 1 ? "delivery waits" : "deliveries wait")
                    + " for \(stranded.provider), which their worker has not set up",
                remedy: "errand work --queues \(stranded.provider)"
                    + "  # with \(ChannelSettings.needed(for: stranded.provider)) set")
        }
    }
}
