import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// What came of asking Redis.
enum RedisStatus: Sendable {
    case reachable(RedisLook)
    case unreachable(String)
}

/// Looks for trouble in what was read; the order is that of the screen.
struct StatusFindings {
    let status: EngineStatus
    let redis: RedisStatus
    let limits: StatusLimits
    let now: Instant
    let servers: ServerLines
    /// What only the doctor looks at.
    var health: EngineHealth?
    /// The modules of this program.
    let modules: Modules

    /// What `errand status` tells.
    var all: [Finding] { engine + schedules + redisFindings + migrations }

    /// What the doctor takes over, who looks at the rest more closely.
    var engine: [Finding] {
        (status.queues ?? []).flatMap(queue) + leaders + workers + dead + transaction
    }

    private func queue(_ queue: QueueRecord) -> [Finding] {
        guard let wait = queue.oldestWait(at: now) else { return [] }
        let name = queue.name
        if queue.pausedAt != nil {
            // Somebody wants it so; after a while perhaps no longer.
            guard wait >= limits.oldestCritical else { return [] }
            return [
                Finding(
                    check: "queue", grade: .warning,
                    found: "\(name) is paused, and its oldest job has waited "
                        + HumanFormat.duration(wait),
                    remedy: "errand queue resume \(name)")
            ]
        }
        var findings: [Finding] = []
        if queue.workers == 0 {
            // A queue that cron drains, or whose only worker starts anew, has none for a while.
            findings.append(
                Finding(
                    check: "queue", grade: wait >= limits.oldestWarning ? .critical : .warning,
                    found: "\(name) has due jobs and no live worker",
                    remedy: "errand work --queues \(name)"))
        }
        if wait >= limits.oldestWarning {
            let (cause, remedy) = delay(queue)
            findings.append(
                Finding(
                    check: "queue", grade: wait >= limits.oldestCritical ? .critical : .warning,
                    found: "\(name): the oldest job has waited \(HumanFormat.duration(wait))"
                        + cause,
                    remedy: remedy))
        }
        return findings
    }

    /// Why a queue's jobs wait for long, as far as its numbers tell, and what helps.
    private func delay(_ queue: QueueRecord) -> (cause: String, remedy: String) {
        let name = queue.name
        let look = "errand queue show \(name)"
        if queue.workers == 0 { return ("", "errand work --queues \(name)") }
        if let limit = health?.limits?[name] {
            if let most = limit.running, limit.held >= most {
                return (
                    ": its limit lets \(HumanFormat.count(most)) run",
                    "errand queue limit \(name) --running \(most * 2)"
                )
            }
            if let rate = limit.rate {
                return (
                    ": its limit lets \(rate) start",
                    "errand queue limit \(name) --none  # or a higher --rate"
                )
            }
        }
        guard queue.slots > 0, queue.busy >= queue.slots else { return ("", look) }
        let rateIn = queue.rateIn ?? 0
        let grows =
            rateIn > queue.rateOut
            ? ", and more comes (\(HumanFormat.rate(rateIn))) than ends "
                + "(\(HumanFormat.rate(queue.rateOut)))" : ""
        return (
            ": all \(HumanFormat.count(queue.slots)) slots are busy" + grows,
            "errand work --queues \(name)"
        )
    }

    private var leaders: [Finding] {
        guard let leaders = status.leaders, let workers = status.workers,
            workers.alive > workers.stopping, !leaders.contains(where: { $0.lead == .duties })
        else { return [] }
        return [
            Finding(
                check: "leads", grade: .warning,
                found: "no worker leads in feeding, which one should within a second",
                remedy: "errand leader show duties")
        ]
    }

    private var workers: [Finding] {
        guard let workers = status.workers, workers.silent > 0 else { return [] }
        if let silent = health?.silentWorkers { return silent.map(silence) }
        let ids = workers.silentIDs.map(String.init).joined(separator: ", ")
        return [
            Finding(
                check: "workers", grade: .warning,
                found: "\(workers.silent) silent for longer than the lease: \(ids)"
                    + (workers.silent > workers.silentIDs.count ? " …" : ""),
                remedy: workers.alive == 0 ? "errand work" : "errand worker ls")
        ]
    }

    private var schedules: [Finding] {
        guard let health = status.schedules else { return [] }
        return ScheduleFindings(health: health).running.map { finding in
            var finding = finding
            finding.check = "missed"
            return finding
        }
    }

    private var dead: [Finding] {
        guard let count = status.deadLastHour, count > 0, count >= limits.deadWarning else {
            return []
        }
        let atLeast = count >= EngineStatus.deadLimit ? "at least " : ""
        return [
            Finding(
                check: "dead", grade: count >= limits.deadCritical ? .critical : .warning,
                found: "\(atLeast)\(HumanFormat.count(count)) jobs died within the last hour"
                    + (health?.deadGroup.map(mostFrequent) ?? ""),
                remedy: health?.deadGroup.map(redrive) ?? "errand dead group --newer 1h")
        ]
    }

    private var redisFindings: [Finding] {
        switch redis {
        case .unreachable(let why):
            [
                Finding(
                    check: "redis", grade: .critical, found: "cannot be used: \(why)",
                    remedy: "errand doctor")
            ]
        case .reachable(let look): Self.eviction(look, servers)
        }
    }

    /// What Redis throws away is missing until the feeder reads all anew.
    static func eviction(_ look: RedisLook, _ servers: ServerLines) -> [Finding] {
        guard look.mayEvict else { return [] }
        return [
            Finding(
                check: "redis", grade: .warning,
                found: "evicts when its memory is full (\(look.policy)): ids start late",
                remedy: servers.redis("config set maxmemory-policy noeviction")
                    + "  # and in its configuration file")
        ]
    }

    private var transaction: [Finding] {
        guard let oldest = status.oldestTransaction, oldest.age >= limits.transactionWarning else {
            return []
        }
        return [
            Finding(
                check: "transaction",
                grade: oldest.age >= limits.transactionCritical ? .critical : .warning,
                found: "open for \(HumanFormat.duration(oldest.age)) (pid \(oldest.pid), "
                    + "\(oldest.application)): keeps dead rows from being cleaned",
                remedy: servers.psql("SELECT pg_terminate_backend(\(oldest.pid))"))
        ]
    }

    private var migrations: [Finding] {
        guard let pending = Self.pending(status, modules) else {
            return [
                Finding(
                    check: "schema", grade: .critical, found: "this database has none",
                    remedy: "errand migrate")
            ]
        }
        var findings: [Finding] = []
        if pending > 0 {
            findings.append(
                Finding(
                    check: "schema", grade: .warning,
                    found: "pending migrations: \(pending)", remedy: "errand migrate"))
        } else if let failure = status.failure {
            findings.append(
                Finding(
                    check: "schema", grade: .critical,
                    found: describe(failure)?.message ?? "\(failure)", remedy: "errand doctor"))
        }
        return findings
    }

    /// How many migrations this program has and the database lacks; nil when it has none at all.
    ///
    /// Those of modules that are not installed do not count.
    static func pending(_ status: EngineStatus, _ modules: Modules) -> Int? {
        status.migrations.flatMap { try? $0.status(of: modules.lines) }.map { lines in
            lines.filter(\.isInstalled).map(\.pending.count).reduce(0, +)
        }
    }
}
