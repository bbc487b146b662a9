import Errand
import ErrandTerminal

/// Problems with the schedules, for `errand doctor` and `errand status`.
struct ScheduleFindings {
    let health: ScheduleHealth

    /// Overdue schedules, and schedules that were paused because their jobs failed.
    var running: [Finding] {
        var findings: [Finding] = []
        if health.overdue > 0 {
            findings.append(
                Finding(
                    check: "scheduler", severity: .warning,
                    message: (health.hasScheduler ? "" : "no scheduler is running, and ") + overdue,
                    remedy: health.hasScheduler
                        ? "errand schedule show \(health.longestOverdue ?? "")"
                        : "errand schedule run  # or 'errand work'; or 'errand schedule tick' "
                            + "from cron"))
        }
        if health.pausedByFailures > 0 {
            findings.append(
                Finding(
                    check: "failed schedules", severity: .warning,
                    message: "\(HumanFormat.count(health.pausedByFailures)) paused automatically "
                        + "because their jobs failed",
                    remedy: "errand schedule ls --paused  # 'errand schedule history NAME' lists "
                        + "the jobs, 'errand schedule resume NAME' resumes a schedule"))
        }
        return findings
    }

    private var overdue: String {
        let first = health.longestOverdue ?? ""
        return health.overdue == 1
            ? "the schedule \(first) is overdue"
            : "\(HumanFormat.count(health.overdue)) schedules are overdue, such as \(first)"
    }

    /// Schedules whose kind no program has declared.
    ///
    /// - Parameter known: the kinds of this program, which a worker declares when it starts.
    func kinds(known: JobKinds) -> [Finding] {
        let undeclared = health.undeclared.filter { !known.contains($0.kind) }
        guard let first = undeclared.first else { return [] }
        let others = undeclared.count - 1
        return [
            Finding(
                check: "schedule kinds", severity: .warning,
                message: "no program has declared the kind \(first.kind) of the schedule "
                    + first.schedule
                    + (others > 0 ? ", nor those of \(HumanFormat.count(others)) more" : "")
                    + ": its jobs will wait for a worker that knows the kind",
                remedy: "errand schedule pause \(first.schedule)  # or start a program that knows "
                    + "the kind; or 'errand schedule edit \(first.schedule) --kind KIND'")
        ]
    }
}
