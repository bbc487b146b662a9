import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// Findings that only the doctor reports.
extension StatusFindings {
    /// Findings beyond those of `engine`.
    var deeper: [Finding] {
        guard let health else { return [] }
        return (health.unknownLanes ?? []).map(unknown) + (health.orphanedJobs ?? []).map(orphan)
            + killers(health.killingJobs ?? []) + partitions(health)
            + (health.interrupted ?? []).map(interrupted)
            + (health.migrationLock.map { [migrationLock($0)] } ?? [])
            + (health.notificationQueueUsage.flatMap(notificationQueue).map { [$0] } ?? [])
            + (health.tables ?? []).compactMap(bloat)
            + (health.pins ?? []).compactMap(pin) + versions(health.versions ?? [])
            + (health.wrongClocks ?? []).map(clock)
    }

    private var isWorked: Bool { (status.workers?.alive ?? 0) > 0 }

    // MARK: Workers and their claims

    func silence(_ worker: EngineHealth.UnresponsiveWorker) -> Finding {
        let held = worker.held
        let jobs = held.first.map {
            held.count == 1
                ? ", and holds job \($0)" : ", and holds \(held.count) jobs, such as \($0)"
        }
        return Finding(
            check: "workers", severity: .warning,
            message: "worker \(worker.id) (\(worker.host), pid \(worker.pid)) has sent no "
                + "heartbeat for \(HumanFormat.duration(worker.silence)), longer than its lease of "
                + HumanFormat.duration(worker.lease) + (jobs ?? ""),
            // The feeder recovers jobs of all queues, whichever queues its worker works.
            remedy: isWorked
                ? "errand leader resign feeder  # the feeder should have recovered its jobs by now"
                : "errand work")
    }

    private func orphan(_ job: EngineHealth.OrphanedJob) -> Finding {
        let since = job.since.map { " \(HumanFormat.age(of: $0.date, now: now.date))" } ?? ""
        return Finding(
            check: "claims", severity: .warning,
            message: "job \(job.id) (\(job.kind)) was claimed\(since) by worker \(job.worker), "
                + "which is no longer registered",
            remedy: isWorked
                ? "errand leader show feeder  # the feeder recovers it within a minute"
                : "errand work --queues \(job.queue)")
    }

    /// Jobs that were running when workers died.
    ///
    /// One death proves nothing: every job that the worker held is a suspect.
    private func killers(_ jobs: [EngineHealth.KillingJob]) -> [Finding] {
        let sure = jobs.filter { $0.kills > 1 || $0.isDead }
        var findings = sure.prefix(10).map { job in
            Finding(
                check: "poison", severity: .warning,
                message: "job \(job.id) (\(job.kind), queue \(job.queue)) has killed its worker "
                    + (job.kills == 1 ? "once" : "\(job.kills) times")
                    + (job.isDead ? ", and is a dead letter now" : ""),
                remedy: job.isDead
                    ? "errand dead discard \(job.id)  # or keep it until the cause is fixed"
                    : "errand job cancel \(job.id)  # before it kills the next one")
        }
        if sure.count > 10 {
            findings[9].message += "; so have \(sure.count - 10) others"
        }
        let once = jobs.filter { $0.kills == 1 && !$0.isDead }
        if let first = once.first {
            findings.append(
                Finding(
                    check: "poison", severity: .note,
                    message: "job \(first.id) (\(first.kind))"
                        + (once.count > 1 ? " and \(once.count - 1) others were" : " was")
                        + " running when a worker died, and may have killed it",
                    remedy: "errand job show \(first.id)"))
        }
        return findings
    }

    private func versions(_ versions: [(version: String, workers: Int)]) -> [Finding] {
        guard versions.count > 1 else { return [] }
        let list = versions.map { "\(HumanFormat.count($0.workers)) of \($0.version)" }
        return [
            Finding(
                check: "versions", severity: .note,
                message: "live workers run different versions: " + list.joined(separator: ", "),
                remedy: "errand worker ls --output wide")
        ]
    }

    private func clock(_ clock: EngineHealth.WrongClock) -> Finding {
        let seconds = HumanFormat.number(abs(clock.ahead / .seconds(1)), decimals: 1)
        return Finding(
            check: "clock", severity: .warning,
            message: "the clock of worker \(clock.worker) on \(clock.host) is \(seconds) s "
                + "\(clock.ahead > .zero ? "ahead of" : "behind") PostgreSQL's",
            remedy: "timedatectl set-ntp true  # on \(clock.host)")
    }

    // MARK: Kinds

    private func unknown(_ unknown: EngineHealth.UnknownLane) -> Finding {
        let lane = unknown.lane
        let what =
            unknown.versions.isEmpty
            ? "knows the kind \(lane.kind)"
            : "knows version \(lane.version) of the arguments of \(lane.kind), only "
                + unknown.versions.map(String.init).joined(separator: ", ")
        let many = unknown.jobs >= EngineHealth.countLimit ? "at least " : ""
        let since = unknown.oldest.map { ", since \(HumanFormat.time($0.date))" } ?? ""
        return Finding(
            check: "kinds", severity: .warning,
            message: "no live worker of queue \(lane.queue) \(what): "
                + (unknown.jobs == 1
                    ? "a due job waits for one"
                    : "\(many)\(HumanFormat.count(unknown.jobs)) due jobs wait for one") + since,
            remedy: remedy(of: lane))
    }

    /// Suggests cancelling where no known program runs the lane: cancelled jobs can be retried.
    private func remedy(of lane: Lane) -> String {
        modules.workCommand(for: lane)
            ?? "errand job cancel --queue \(shellWord(lane.queue)) --kind \(shellWord(lane.kind))  "
            + "# or start a worker whose program has it"
    }

    // MARK: Dead letters

    func mostFrequent(_ group: DeadGroup) -> String {
        ", \(HumanFormat.count(group.count)) of them of \(group.kind): \(group.pattern)"
    }

    func redrive(_ group: DeadGroup) -> String {
        "errand dead redrive --fingerprint \(group.fingerprint) --kind \(shellWord(group.kind)) "
            + "--yes  # after fixing the cause; redrives five first"
    }

    // MARK: The database

    private func partitions(_ health: EngineHealth) -> [Finding] {
        guard let missing = health.missingPartitions, let first = missing.first else { return [] }
        let stray = health.strayFinishedJobs ?? 0
        return [
            Finding(
                check: "partitions", severity: .warning,
                message: "finished jobs that are kept until \(first.day)"
                    + (missing.count > 1 ? " and \(missing.count - 1) other days" : "")
                    + " have no partition"
                    + (stray > 0
                        ? ": \(HumanFormat.count(stray)) are in finished_jobs_other, which "
                            + "retention deletes row by row" : ""),
                remedy: "errand db prepare")
        ]
    }

    private func interrupted(_ operation: EngineHealth.Interrupted) -> Finding {
        Finding(
            check: "operations", severity: .warning,
            message: "operation \(operation.id) ('\(operation.action)' by "
                + "\(operation.operatorName)) was interrupted after "
                + "\(HumanFormat.count(operation.done)) of \(HumanFormat.count(operation.total))",
            remedy: "errand op resume \(operation.id)  # or errand op cancel \(operation.id)")
    }

    /// Any login can take the lock, so the session need not be one that migrates.
    private func migrationLock(_ holder: Migrator.LockHolder) -> Finding {
        Finding(
            check: "migrations", severity: .warning,
            message: "\(holder) holds the lock of migrations: 'errand migrate' waits for it",
            remedy: servers.psql("SELECT * FROM errand.sessions() WHERE pid = \(holder.pid)")
                + "  # if it does not migrate, end it: SELECT pg_terminate_backend(\(holder.pid))")
    }

    /// The usage from which the queue of notifications is reported: it fills while a session that
    /// listens stays in a transaction.
    private static let longQueue = 0.25

    private func notificationQueue(_ usage: Double) -> Finding? {
        guard usage >= Self.longQueue else { return nil }
        return Finding(
            check: "notifications", severity: usage >= 0.75 ? .critical : .warning,
            message: "the server's queue of notifications is "
                + "\(HumanFormat.number(usage * 100, decimals: 0)) % full, and "
                + "no job can be enqueued once it is full",
            remedy: servers.psql(
                "SELECT pid, usename, xact_start FROM pg_stat_activity WHERE state LIKE "
                    + "'idle in%' ORDER BY xact_start")
                + "  # the oldest session that listens; end it")
    }

    /// The size above which bloat is reported; autovacuum takes care of smaller tables.
    private static let largeTable = 100 << 20

    private func bloat(_ table: DatabaseBloat.Table) -> Finding? {
        guard table.needsVacuum(isHeldBack: !(health?.pins ?? []).isEmpty),
            table.size > Self.largeTable
        else { return nil }
        return Finding(
            check: "bloat", severity: .warning,
            message: "errand.\(table.name) has \(HumanFormat.count(table.dead)) dead and "
                + "\(HumanFormat.count(table.live)) live rows, in "
                + HumanFormat.bytes(table.size),
            remedy: servers.psql("VACUUM (ANALYZE) errand.\(table.name)")
                + "  # 'errand db bloat' shows what holds back vacuum")
    }

    /// The age in transactions from which anything that holds back vacuum is reported.
    private static let longPin = 1_000_000

    private func pin(_ pin: DatabaseBloat.Pin) -> Finding? {
        let isOld = pin.since.map { now.durationSince($0) >= limits.transactionWarning } ?? false
        guard isOld || pin.age >= Self.longPin else { return nil }
        return Finding(
            check: "transaction", severity: .warning,
            message: "\(pin.kind.rawValue) \(pin.name) (\(pin.who ?? "unknown")) keeps vacuum from "
                + "removing dead rows of the last \(HumanFormat.count(pin.age)) transactions",
            remedy: "errand db bloat  # prints the SQL that ends it")
    }
}
