import JobQueue
import Postgres
import Recurrence
import Terminal

/// What the doctor looks at for the sake of the schedules.
extension DoctorCommand {
    static func schedules(_ invocation: Invocation) async -> [Finding] {
        let zones = invocation.zones
        var findings = [timeZones(zones)]
        do {
            let schedules = Schedules(session: try invocation.session(), zones: zones)
            findings += list(try await schedules.health(), zones)
        } catch {
            // Servers that cannot be reached and tables that are missing have findings already.
        }
        return findings
    }

    private static func timeZones(_ zones: ZoneDatabase) -> Finding {
        guard let folder = zones.folder else {
            return Finding(
                check: "time zones", grade: .critical, found: "this machine has none",
                remedy: "install the package tzdata, or set TZDIR to a folder that holds them")
        }
        let finding = zones.finding
        return Finding(
            check: "time zones", grade: finding == nil ? .ok : .warning,
            found: "tzdata \(zones.version) in \(folder)", remedy: finding)
    }

    private static func list(_ health: ScheduleHealth, _ zones: ZoneDatabase) -> [Finding] {
        var findings = [
            Finding(
                check: "schedules", grade: .ok,
                found: "\(HumanFormat.count(health.count)), of which "
                    + "\(HumanFormat.count(health.paused)) paused and "
                    + "\(HumanFormat.count(health.overdue)) overdue")
        ]
        if health.overdue > 0, !health.isLed {
            findings.append(
                Finding(
                    check: "scheduler", grade: .warning,
                    found: "no scheduler runs, and \(named(health.overdue, health)) overdue",
                    remedy: "start 'errand work' or 'errand schedule run', or put 'errand schedule "
                        + "tick' in cron"))
        }
        if health.pausedByFailures > 0 {
            findings.append(
                Finding(
                    check: "failed schedules", grade: .warning,
                    found: "\(HumanFormat.count(health.pausedByFailures)) paused themselves, "
                        + "because their jobs failed",
                    remedy: "'errand schedule ls --paused' lists them, 'errand schedule history "
                        + "NAME' names the jobs, 'errand schedule resume NAME' lets one go on"))
        }
        // Those of this program are declared as soon as it works.
        let undeclared = health.undeclared.filter { !Kinds.all().contains($0.kind) }
        if let first = undeclared.first {
            let others = undeclared.count - 1
            findings.append(
                Finding(
                    check: "schedule kinds", grade: .warning,
                    found: "no program has declared the kind \(first.kind) of the schedule "
                        + first.schedule
                        + (others > 0 ? ", nor those of \(HumanFormat.count(others)) more" : ""),
                    remedy: "its jobs wait for a worker that knows them: start one, or 'errand "
                        + "schedule edit \(first.schedule) --kind KIND'"))
        }
        if let newer = newer(health.plannedWith, than: zones.version) {
            findings.append(
                Finding(
                    check: "schedule times", grade: .warning,
                    found: "some were computed with tzdata \(newer), and this machine has "
                        + zones.version,
                    remedy: "upgrade the package tzdata here, as it was elsewhere"))
        }
        return findings
    }

    private static func named(_ count: Int, _ health: ScheduleHealth) -> String {
        let first = health.longestOverdue ?? ""
        return count == 1
            ? "the schedule \(first) is"
            : "\(HumanFormat.count(count)) schedules are, such as \(first),"
    }

    /// The release that plans were made with, if it is newer than ours; both as `2026f`.
    private static func newer(_ theirs: String?, than ours: String) -> String? {
        func isRelease(_ text: String) -> Bool { text.first?.isNumber ?? false }
        guard let theirs, isRelease(theirs), isRelease(ours), theirs > ours else { return nil }
        return theirs
    }
}
