import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// The doctor's checks of time zones and schedules.
extension DoctorCommand {
    static func schedules(
        _ health: ScheduleHealth?, _ zones: ZoneDatabase, _ modules: Modules
    ) -> [Finding] {
        [timeZones(zones)] + (health.map { list($0, zones, modules) } ?? [])
    }

    private static func timeZones(_ zones: ZoneDatabase) -> Finding {
        guard let folder = zones.folder else {
            return Finding(
                check: "time zones", severity: .critical,
                message: "this machine has no time zone data",
                remedy: "apt-get install tzdata  # or set TZDIR to its directory")
        }
        let finding = zones.finding
        return Finding(
            check: "time zones", severity: finding == nil ? .ok : .warning,
            message: "tzdata \(zones.version) in \(folder)" + (finding.map { ": \($0)" } ?? ""),
            remedy: finding.map { _ in
                "apt-get install --only-upgrade tzdata  # 2026b or later; or set TZDIR to it"
            })
    }

    private static func list(
        _ health: ScheduleHealth, _ zones: ZoneDatabase, _ modules: Modules
    ) -> [Finding] {
        var findings = [
            Finding(
                check: "schedules", severity: .ok,
                message: "\(HumanFormat.count(health.count)) in total, "
                    + "\(HumanFormat.count(health.paused)) paused, "
                    + "\(HumanFormat.count(health.overdue)) overdue")
        ]
        let more = ScheduleFindings(health: health)
        findings += more.running + more.kinds(known: modules.listedKinds())
        if let newer = newer(health.plannedWith, than: zones.version) {
            findings.append(
                Finding(
                    check: "schedule times", severity: .warning,
                    message: "some were computed with tzdata \(newer), but this machine has "
                        + zones.version,
                    remedy: "apt-get install --only-upgrade tzdata  # as on the other machines"))
        }
        return findings
    }

    /// The release that schedules were computed with if it is newer than `ours`, such as `2026f`.
    private static func newer(_ theirs: String?, than ours: String) -> String? {
        func isRelease(_ text: String) -> Bool { text.first?.isNumber ?? false }
        guard let theirs, isRelease(theirs), isRelease(ours), theirs > ours else { return nil }
        return theirs
    }
}
