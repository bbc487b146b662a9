import Errand
import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// The metrics of this process, which need no server.
struct WorkerMetrics {
    let stats: WorkerStats

    /// The maximum number of kinds per queue; further kinds are combined as `other`.
    static let labelLimit = 200
    /// The upper bounds of buckets as doublings of 100 µs, from 1.6 ms to almost two hours.
    private static let doublings = Array(4...20) + [22, 24, 26]

    func families() -> [MetricFamily] {
        var families = [
            MetricFamily(
                "errand_ready", .gauge, "Whether this process is ready for work, as in /readyz",
                stats.trouble == nil ? 1 : 0)
        ]
        if let silence = stats.sinceBeat {
            families.append(
                MetricFamily(
                    "errand_heartbeat_age_seconds", .gauge,
                    "Time since PostgreSQL accepted this process's last heartbeat",
                    silence / .seconds(1)))
        }
        families.append(connects())
        if let numbers = stats.numbers {
            families += jobs(numbers) + slots(numbers) + pools(numbers)
            families += [
                MetricFamily(
                    "errand_lease_losses", .counter,
                    "Number of times this worker lost its lease while it was alive",
                    Double(stats.leaseLosses)),
                MetricFamily(
                    "errand_jobs_fenced_off", .counter,
                    "Results discarded because the job had been given to another worker",
                    Double(numbers.fencedOff)),
                MetricFamily(
                    "errand_jobs_requeued", .counter, "Jobs requeued before they finished",
                    Double(numbers.requeued)),
            ]
        }
        return families
    }

    private func connects() -> MetricFamily {
        var family = MetricFamily(
            "errand_connects", .counter, "Connection attempts to a server by result")
        for (server, tally) in [
            ("postgresql", Session.connections), ("redis", Connection.connections),
        ] {
            family.add(tally.made, ("server", server), ("result", "made"))
            family.add(tally.failed, ("server", server), ("result", "failed"))
        }
        return family
    }

    private func jobs(_ numbers: WorkerNumbers) -> [MetricFamily] {
        var started = MetricFamily(
            "errand_jobs_started", .counter, "Jobs whose first attempt this process started")
        var ended = MetricFamily(
            "errand_jobs_ended", .counter, "Attempts that ended in this process by outcome")
        var waits = MetricFamily(
            "errand_job_wait_seconds", .histogram, "Time from when a job was due to its start")
        var runs = MetricFamily(
            "errand_job_run_seconds", .histogram, "Duration of attempts")
        for queue in numbers.queues {
            for (kind, page) in bounded(queue.kinds) {
                started.add(page.started, ("queue", queue.name), ("kind", kind))
                for (outcome, count) in [
                    ("completed", page.completed), ("retried", page.retried),
                    ("dead", page.dead), ("cancelled", page.cancelled),
                    ("snoozed", page.snoozed),
                ] {
                    ended.add(
                        count, ("queue", queue.name), ("kind", kind), ("outcome", outcome))
                }
                waits.add(
                    Self.distribution(page.waits, sum: page.waited), ("queue", queue.name),
                    ("kind", kind))
                runs.add(
                    Self.distribution(page.runs, sum: page.ran), ("queue", queue.name),
                    ("kind", kind))
            }
        }
        return [started, ended, waits, runs]
    }

    private func bounded(
        _ kinds: [String: ActivityMinute]
    ) -> [(kind: String, page: ActivityMinute)] {
        let sorted = kinds.sorted { $0.key < $1.key }.map { (kind: $0.key, page: $0.value) }
        guard sorted.count > Self.labelLimit else { return sorted }
        let rest = sorted[Self.labelLimit...].map(\.page)
        return sorted[..<Self.labelLimit] + [("other", ActivityMinute(merging: rest))]
    }

    private static func distribution(
        _ histogram: DurationHistogram, sum milliseconds: Double
    ) -> MetricFamily.Distribution {
        // Dividing integers keeps the printed bounds exact.
        let bounds = doublings.map { Double(1 << $0) / 10_000 }
        let counts = histogram.counts(upToDoublings: doublings)
        return MetricFamily.Distribution(
            buckets: zip(bounds, counts).map { (bound: $0, count: $1) }, count: histogram.total,
            sum: milliseconds / 1_000)
    }

    private func slots(_ numbers: WorkerNumbers) -> [MetricFamily] {
        var concurrency = MetricFamily(
            "errand_worker_concurrency", .gauge, "Concurrency of a queue in this process")
        var running = MetricFamily(
            "errand_worker_running_jobs", .gauge, "Jobs that this process is running")
        var waiting = MetricFamily(
            "errand_worker_waiting_jobs", .gauge,
            "Jobs that this process has claimed but not started")
        var paused = MetricFamily(
            "errand_worker_paused", .gauge,
            "Whether this process claims no jobs of a queue, as operators requested")
        var claims = MetricFamily(
            "errand_claims", .counter, "Claims of this process that returned jobs")
        var claimed = MetricFamily(
            "errand_claimed_jobs", .counter, "Jobs that this process has claimed")
        for queue in numbers.queues {
            let label = (name: "queue", value: queue.name)
            concurrency.add(queue.concurrency, label)
            running.add(queue.running, label)
            waiting.add(queue.waiting, label)
            paused.add(queue.isPaused ? 1 : 0, label)
            claims.add(queue.claims, label)
            claimed.add(queue.claimed, label)
        }
        return [concurrency, running, waiting, paused, claims, claimed]
    }

    private func pools(_ numbers: WorkerNumbers) -> [MetricFamily] {
        var limit = MetricFamily(
            "errand_pool_sessions_limit", .gauge, "Maximum number of PostgreSQL sessions of a pool")
        var lent = MetricFamily(
            "errand_pool_sessions_in_use", .gauge, "PostgreSQL sessions of a pool in use")
        var waiting = MetricFamily(
            "errand_pool_waiters", .gauge, "Requests waiting for a session of a pool")
        for pool in numbers.pools {
            limit.add(pool.limit, ("pool", pool.name))
            lent.add(pool.lent, ("pool", pool.name))
            waiting.add(pool.waiting, ("pool", pool.name))
        }
        return [limit, lent, waiting]
    }
}
