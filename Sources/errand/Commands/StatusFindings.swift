import JobQueue
import Migrations
import Postgres
import Terminal

/// One thing that is amiss, and the command that looks further or mends it.
struct StatusFinding {
    enum Grade: String { case warning, critical }

    /// What it is about; the line of `errand status` that it belongs to.
    var check: String
    var grade: Grade
    var found: String
    var remedy: String

    var record: Record {
        Record([
            ("grade", .marked(grade.rawValue, grade == .critical ? .red : .yellow)),
            ("check", .text(check)), ("found", .text(found)), ("remedy", .text(remedy)),
        ])
    }
}

/// From where on something is amiss.
struct StatusLimits {
    var oldestWarning = Duration.seconds(60)
    var oldestCritical = Duration.seconds(600)
    var deadWarning = 1
    var deadCritical = 100
    var transactionWarning = Duration.seconds(300)
    var transactionCritical = Duration.seconds(3_600)
}

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

    /// All of it, worst first.
    var worstFirst: [StatusFinding] {
        all.filter { $0.grade == .critical } + all.filter { $0.grade == .warning }
    }

    var all: [StatusFinding] {
        (status.queues ?? []).flatMap(queue) + leaders + workers + schedules + dead + redisFindings
            + transaction + migrations
    }

    private func queue(_ queue: QueueRecord) -> [StatusFinding] {
        guard let wait = queue.oldestWait(at: now) else { return [] }
        let name = queue.name
        if queue.pausedAt != nil {
            // Somebody wants it so; after a while perhaps no longer.
            guard wait >= limits.oldestCritical else { return [] }
            return [
                StatusFinding(
                    check: "queue", grade: .warning,
                    found: "\(name) is paused, and its oldest job has waited "
                        + HumanFormat.duration(wait),
                    remedy: "errand queue resume \(name)")
            ]
        }
        var findings: [StatusFinding] = []
        if queue.workers == 0 {
            findings.append(
                StatusFinding(
                    check: "queue", grade: .critical,
                    found: "\(name) has due jobs and no live worker",
                    remedy: "errand work --queues \(name)"))
        }
        if wait >= limits.oldestWarning {
            findings.append(
                StatusFinding(
                    check: "queue", grade: wait >= limits.oldestCritical ? .critical : .warning,
                    found: "\(name): the oldest job has waited \(HumanFormat.duration(wait))",
                    remedy: "errand queue show \(name)"))
        }
        return findings
    }

    private var leaders: [StatusFinding] {
        guard let leaders = status.leaders, let workers = status.workers,
            workers.alive > workers.stopping, !leaders.contains(where: { $0.lead == .duties })
        else { return [] }
        return [
            StatusFinding(
                check: "leads", grade: .warning,
                found: "no worker leads in feeding, which one should within a second",
                remedy: "errand doctor")
        ]
    }

    private var workers: [StatusFinding] {
        guard let workers = status.workers, workers.silent > 0 else { return [] }
        let ids = workers.silentIDs.map(String.init).joined(separator: ", ")
        return [
            StatusFinding(
                check: "workers", grade: .warning,
                found: "\(workers.silent) silent for longer than the lease: \(ids)"
                    + (workers.silent > workers.silentIDs.count ? " …" : ""),
                remedy: "errand worker ls")
        ]
    }

    private var schedules: [StatusFinding] {
        guard let health = status.schedules else { return [] }
        var findings: [StatusFinding] = []
        if health.overdue > 0 {
            let name = health.longestOverdue ?? "unknown"
            findings.append(
                StatusFinding(
                    check: "missed", grade: .warning,
                    found: "overdue schedules: \(HumanFormat.count(health.overdue)), "
                        + "\(name) the longest"
                        + (health.isLed ? "" : "; nothing runs schedules"),
                    remedy: health.isLed ? "errand schedule show \(name)" : "errand work"))
        }
        if health.pausedByFailures > 0 {
            findings.append(
                StatusFinding(
                    check: "missed", grade: .warning,
                    found: "schedules that paused themselves because their jobs failed: "
                        + HumanFormat.count(health.pausedByFailures),
                    remedy: "errand schedule ls"))
        }
        return findings
    }

    private var dead: [StatusFinding] {
        guard let count = status.deadLastHour, count > 0, count >= limits.deadWarning else {
            return []
        }
        let atLeast = count >= EngineStatus.deadLimit ? "at least " : ""
        return [
            StatusFinding(
                check: "dead", grade: count >= limits.deadCritical ? .critical : .warning,
                found: "\(atLeast)\(HumanFormat.count(count)) jobs died within the last hour",
                remedy: "errand dead group --newer 1h")
        ]
    }

    private var redisFindings: [StatusFinding] {
        switch redis {
        case .unreachable(let why):
            [
                StatusFinding(
                    check: "redis", grade: .critical, found: "cannot be used: \(why)",
                    remedy: "errand doctor")
            ]
        case .reachable(let look) where look.mayEvict:
            [
                StatusFinding(
                    check: "redis", grade: .warning,
                    found: "evicts when its memory is full (\(look.policy)): ids start late",
                    remedy: "redis-cli config set maxmemory-policy noeviction")
            ]
        case .reachable: []
        }
    }

    private var transaction: [StatusFinding] {
        guard let oldest = status.oldestTransaction, oldest.age >= limits.transactionWarning else {
            return []
        }
        return [
            StatusFinding(
                check: "transaction",
                grade: oldest.age >= limits.transactionCritical ? .critical : .warning,
                found: "open for \(HumanFormat.duration(oldest.age)) (pid \(oldest.pid), "
                    + "\(oldest.application)): keeps dead rows from being cleaned",
                remedy: "errand doctor")
        ]
    }

    private var migrations: [StatusFinding] {
        guard let pending = Self.pending(status) else {
            return [
                StatusFinding(
                    check: "schema", grade: .critical, found: "this database has none",
                    remedy: "errand migrate")
            ]
        }
        var findings: [StatusFinding] = []
        if pending > 0 {
            findings.append(
                StatusFinding(
                    check: "schema", grade: .warning,
                    found: "pending migrations: \(pending)", remedy: "errand migrate"))
        } else if let failure = status.failure {
            findings.append(
                StatusFinding(
                    check: "schema", grade: .critical,
                    found: describe(failure)?.message ?? "\(failure)", remedy: "errand doctor"))
        }
        return findings
    }

    /// How many migrations this program has and the database lacks; nil when it has none at all.
    static func pending(_ status: EngineStatus) -> Int? {
        status.appliedMigrations.map { applied in
            migrationNumbers.count { !applied.contains($0) }
        }
    }

    private static let migrationNumbers = Migrations.migrations.map(\.number)
}
