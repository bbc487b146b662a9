import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// Whether Redis is reachable, and what it reported.
enum RedisStatus: Sendable {
    case reachable(RedisInfo)
    case unreachable(String)
}

/// The problems of an engine's status, in the order of the screen.
struct StatusFindings {
    let status: EngineStatus
    let redis: RedisStatus
    let limits: StatusLimits
    let now: Instant
    let servers: ServerLines
    /// Further checks; only the doctor makes them.
    var health: EngineHealth?
    /// The modules of this program.
    let modules: Modules

    /// All findings of `errand status`.
    var all: [Finding] { engine + schedules + redisFindings + migrations }

    /// The findings that the doctor shares; it checks the rest in more depth.
    var engine: [Finding] {
        (status.queues ?? []).flatMap(queue) + leaders + workers + dead + transaction
    }

    private func queue(_ queue: QueueRecord) -> [Finding] {
        guard let wait = queue.oldestWait(at: now) else { return [] }
        let name = queue.name
        if queue.pausedAt != nil {
            // A pause is deliberate, but after a while someone may have forgotten it.
            guard wait >= limits.oldestCritical else { return [] }
            return [
                Finding(
                    check: "queue", severity: .warning,
                    message: "\(name) is paused, and its oldest job has waited for "
                        + HumanFormat.duration(wait),
                    remedy: "errand queue resume \(name)")
            ]
        }
        var findings: [Finding] = []
        if queue.workers == 0 {
            // A queue that cron drains, or whose only worker restarts, has none for a while.
            findings.append(
                Finding(
                    check: "queue", severity: wait >= limits.oldestWarning ? .critical : .warning,
                    message: "\(name) has due jobs and no live worker",
                    remedy: "errand work --queues \(name)"))
        }
        if wait >= limits.oldestWarning {
            let (cause, remedy) = delay(queue)
            findings.append(
                Finding(
                    check: "queue", severity: wait >= limits.oldestCritical ? .critical : .warning,
                    message: "\(name): the oldest job has waited \(HumanFormat.duration(wait))"
                        + cause,
                    remedy: remedy))
        }
        return findings
    }

    /// The likely cause of a queue's delay, if its numbers show one, and the remedy.
    private func delay(_ queue: QueueRecord) -> (cause: String, remedy: String) {
        let name = queue.name
        let show = "errand queue show \(name)"
        if queue.workers == 0 { return ("", "errand work --queues \(name)") }
        if let limit = health?.limits?[name] {
            if let most = limit.running, limit.held >= most {
                return (
                    ": its limit allows \(HumanFormat.count(most)) running jobs",
                    "errand queue limit \(name) --running \(most * 2)"
                )
            }
            if let rate = limit.rate {
                return (
                    ": its limit allows \(rate) starts",
                    "errand queue limit \(name) --none  # or a higher --rate"
                )
            }
        }
        guard queue.slots > 0, queue.busy >= queue.slots else { return ("", show) }
        let rateIn = queue.rateIn ?? 0
        let grows =
            rateIn > queue.rateOut
            ? ", and more jobs arrive (\(HumanFormat.rate(rateIn))) than finish "
                + "(\(HumanFormat.rate(queue.rateOut)))" : ""
        return (
            ": all \(HumanFormat.count(queue.slots)) slots are busy" + grows,
            "errand work --queues \(name)"
        )
    }

    private var leaders: [Finding] {
        guard let leaders = status.leaders, let workers = status.workers,
            workers.alive > workers.stopping, !leaders.contains(where: { $0.role == .feeder })
        else { return [] }
        return [
            Finding(
                check: "leaders", severity: .warning,
                message: "no worker is the feeder: due jobs are not dispatched",
                remedy: "errand leader show feeder")
        ]
    }

    private var workers: [Finding] {
        guard let workers = status.workers, workers.unresponsive > 0 else { return [] }
        if let silent = health?.unresponsiveWorkers { return silent.map(silence) }
        let ids = workers.unresponsiveIDs.map(String.init).joined(separator: ", ")
        return [
            Finding(
                check: "workers", severity: .warning,
                message: "\(workers.unresponsive) unresponsive for longer than the lease: \(ids)"
                    + (workers.unresponsive > workers.unresponsiveIDs.count ? " …" : ""),
                remedy: workers.alive == 0 ? "errand work" : "errand worker ls")
        ]
    }

    private var schedules: [Finding] {
        guard let health = status.schedules else { return [] }
        return ScheduleFindings(health: health).running.map { finding in
            var finding = finding
            finding.check = "schedules"
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
                check: "dead", severity: count >= limits.deadCritical ? .critical : .warning,
                message: "\(atLeast)\(HumanFormat.count(count)) jobs died within the last hour"
                    + (health?.deadGroup.map(mostFrequent) ?? ""),
                remedy: health?.deadGroup.map(redrive) ?? "errand dead group --newer 1h")
        ]
    }

    private var redisFindings: [Finding] {
        switch redis {
        case .unreachable(let why):
            [
                Finding(
                    check: "redis", severity: .critical, message: "not usable: \(why)",
                    remedy: "errand doctor")
            ]
        case .reachable(let info): Self.eviction(info, servers)
        }
    }

    /// Warns if Redis may evict keys: evicted ids are missing until the feeder rereads its lanes.
    static func eviction(_ info: RedisInfo, _ servers: ServerLines) -> [Finding] {
        guard info.mayEvict else { return [] }
        return [
            Finding(
                check: "redis", severity: .warning,
                message: "evicts keys when its memory is full (\(info.policy)), which delays jobs",
                remedy: servers.redis("config set maxmemory-policy noeviction")
                    + "  # also set it in the configuration file")
        ]
    }

    private var transaction: [Finding] {
        guard let oldest = status.oldestTransaction, oldest.age >= limits.transactionWarning else {
            return []
        }
        return [
            Finding(
                check: "transaction",
                severity: oldest.age >= limits.transactionCritical ? .critical : .warning,
                message: "open for \(HumanFormat.duration(oldest.age)) (pid \(oldest.pid), "
                    + "\(oldest.application)): prevents vacuum from removing dead rows",
                remedy: servers.psql("SELECT pg_terminate_backend(\(oldest.pid))"))
        ]
    }

    private var migrations: [Finding] {
        guard let pending = Self.pending(status, modules) else {
            return [
                Finding(
                    check: "schema", severity: .critical, message: "not installed in this database",
                    remedy: "errand migrate")
            ]
        }
        var findings: [Finding] = []
        if pending > 0 {
            findings.append(
                Finding(
                    check: "schema", severity: .warning,
                    message: "pending migrations: \(pending)", remedy: "errand migrate"))
        } else if let failure = status.failure {
            findings.append(
                Finding(
                    check: "schema", severity: .critical,
                    message: describe(failure)?.message ?? "\(failure)", remedy: "errand doctor"))
        }
        return findings
    }

    /// The number of pending migrations of installed modules; nil if the schema is not installed.
    static func pending(_ status: EngineStatus, _ modules: Modules) -> Int? {
        status.migrations.flatMap { try? $0.status(of: modules.lines) }.map { lines in
            lines.filter(\.isInstalled).map(\.pending.count).reduce(0, +)
        }
    }
}
