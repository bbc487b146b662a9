import Errand
import ErrandTerminal

/// What is amiss with the schedules, for `errand doctor` and `errand status` alike.
struct ScheduleFindings {
    let health: ScheduleHealth

    /// That they do not run, or that their jobs fail.
    var running: [Finding] {
        var findings: [Finding] = []
        if health.overdue > 0 {
            findings.append(
                Finding(
                    check: "scheduler", grade: .warning,
                    found: (health.isLed ? "" : "no scheduler runs, and ") + overdue,
                    remedy: health.isLed
                        ? "errand schedule show \(health.longestOverdue ?? "")"
                        : "errand schedule run  # or 'errand work'; or 'errand schedule tick' "
                            + "from cron"))
        }
        if health.pausedByFailures > 0 {
            findings.append(
                Finding(
                    check: "failed schedules", grade: .warning,
                    found: "\(HumanFormat.count(health.pausedByFailures)) paused themselves, "
                        + "because their jobs failed",
                    remedy: "errand schedule ls --paused  # 'errand schedule history NAME' names "
                        + "the jobs, 'errand schedule resume NAME' lets one go on"))
        }
        return findings
    }

    private var overdue: String {
        let first = health.longestOverdue ?? ""
        return health.overdue == 1
            ? "the schedule \(first) is overdue"
            : "\(HumanFormat.count(health.overdue)) schedules are, such as \(first), overdue"
    }

    /// That nobody can run what they make; these kinds are known to this program.
    func kinds(known: JobKinds) -> [Finding] {
        // Those of this program are declared as soon as it works.
        let undeclared = health.undeclared.filter { !known.contains($0.kind) }
        guard let first = undeclared.first else { return [] }
        let others = undeclared.count - 1
        return [
            Finding(
                check: "schedule kinds", grade: .warning,
                found: "no program has declared the kind \(first.kind) of the schedule "
                    + first.schedule
                    + (others > 0 ? ", nor those of \(HumanFormat.count(others)) more" : "")
                    + ": its jobs will wait for a worker that knows them",
                remedy: "errand schedule pause \(first.schedule)  # or start a program that knows "
                    + "it; or 'errand schedule edit \(first.schedule) --kind KIND'")
        ]
    }
}
