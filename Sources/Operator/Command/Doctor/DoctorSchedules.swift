import Errand
import ErrandPostgres
import ErrandRecurrence
import ErrandTerminal

/// What the doctor looks at for the sake of the schedules.
extension DoctorCommand {
    static func schedules(
        _ health: ScheduleHealth?, _ zones: ZoneDatabase, _ modules: Modules
    ) -> [Finding] {
        [timeZones(zones)] + (health.map { list($0, zones, modules) } ?? [])
    }

    private static func timeZones(_ zones: ZoneDatabase) -> Finding {
        guard let folder = zones.folder else {
            return Finding(
                check: "time zones", grade: .critical, found: "this machine has none",
                remedy: "apt-get install tzdata  # or set TZDIR to a folder that holds them")
        }
        let finding = zones.finding
        return Finding(
            check: "time zones", grade: finding == nil ? .ok : .warning,
            found: "tzdata \(zones.version) in \(folder)" + (finding.map { ": \($0)" } ?? ""),
            remedy: finding.map { _ in
                "apt-get install --only-upgrade tzdata  # 2026b or later; or mend TZDIR"
            })
    }

    private static func list(
        _ health: ScheduleHealth, _ zones: ZoneDatabase, _ modules: Modules
    ) -> [Finding] {
        var findings = [
            Finding(
                check: "schedules", grade: .ok,
                found: "\(HumanFormat.count(health.count)), of which "
                    + "\(HumanFormat.count(health.paused)) paused and "
                    + "\(HumanFormat.count(health.overdue)) overdue")
        ]
        let more = ScheduleFindings(health: health)
        findings += more.running + more.kinds(known: modules.listedKinds())
        if let newer = newer(health.plannedWith, than: zones.version) {
            findings.append(
                Finding(
                    check: "schedule times", grade: .warning,
                    found: "some were computed with tzdata \(newer), and this machine has "
                        + zones.version,
                    remedy: "apt-get install --only-upgrade tzdata  # as it was elsewhere"))
        }
        return findings
    }

    /// The release that plans were made with, if it is newer than ours; both as `2026f`.
    private static func newer(_ theirs: String?, than ours: String) -> String? {
        func isRelease(_ text: String) -> Bool { text.first?.isNumber ?? false }
        guard let theirs, isRelease(theirs), isRelease(ours), theirs > ours else { return nil }
        return theirs
    }
}
