import ErrandCommand
import ErrandPostgres
import ErrandTerminal

/// The doctor's checks of missions.
enum DoctorMissions {
    static func findings(of context: ModuleContext) async -> [Finding] {
        // Other checks report unreadable tables: servers, migrations, rights.
        guard let found = try? await MissionRows(session: context.session).neglected(now: .now())
        else { return [] }
        var findings: [Finding] = []
        findings.add(
            .warning, of: "missions",
            "submissions that have waited over 3 days for a review", found.submissions,
            remedy: "errand mission ls --submitted")
        findings.add(
            .warning, of: "missions",
            "coupons of approved missions that were refused, such as by a closed establishment",
            found.coupons, remedy: "errand mission ls --refused-coupons")
        return findings
    }
}
