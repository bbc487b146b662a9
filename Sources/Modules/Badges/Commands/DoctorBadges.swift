import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of badges.
enum DoctorBadges {
    /// A recount runs every night.
    private static let late = Duration.seconds(2 * 86_400)

    static func findings(of context: ModuleContext) async -> [Finding] {
        let rows = BadgeRows(session: context.session)
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let installed = try? await rows.installedAt() else { return [] }
        let last: RecountRecord?
        do { last = try await rows.lastRecount() } catch { return [] }
        let work = "errand work --queues \(RecountBadges.options.queue)"
        func finding(
            _ severity: Finding.Severity, _ message: String, _ remedy: String? = nil
        ) -> [Finding] {
            [Finding(check: "badges", severity: severity, message: message, remedy: remedy)]
        }
        guard (last?.endedAt ?? installed).adding(late) > .now() else {
            return finding(
                .warning, "no recount of badges has ended for two days",
                "\(work)  # and: errand job ls --queue \(RecountBadges.options.queue)")
        }
        guard let last else { return finding(.ok, "the first recount comes in the night") }
        guard last.corrected == 0, last.awarded == 0 else {
            return finding(
                .warning,
                "the last recount corrected \(HumanFormat.count(last.corrected)) counts and "
                    + "awarded \(HumanFormat.count(last.awarded)) badges that were missing: a "
                    + "program writes deeds without badges.count_deed()",
                "errand badge kinds")
        }
        return finding(
            .ok,
            "the last recount of \(HumanFormat.count(last.people)) people found nothing to "
                + "repair")
    }
}
