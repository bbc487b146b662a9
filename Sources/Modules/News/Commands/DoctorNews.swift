import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of terms and news.
enum DoctorNews {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let stuck = try? await SendingRows(session: context.session).stuck(now: .now())
        else { return [] }
        return stuck.map { sending in
            sending.isRunning
                ? Finding(
                    check: "news", severity: .warning,
                    message: "sending \(sending.id) is running, and has notified nobody for 10 "
                        + "minutes: no worker of the queue \(SendNews.options.queue), or its job "
                        + "has failed",
                    remedy: "errand news show \(sending.id)")
                : Finding(
                    check: "news", severity: .warning,
                    message: "sending \(sending.id) was paused over a day ago: some people are "
                        + "notified and others not",
                    remedy: "errand news show \(sending.id)")
        }
    }
}
