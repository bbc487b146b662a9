import Errand
import ErrandPostgres
import ErrandRedis
import ErrandThreads

/// What this process knows of itself, as metrics: nobody is asked for it.
struct WorkerMetrics {
    let vitals: Vitals

    /// For programs that have more kinds and queues than a scrape should carry.
    ///
    /// What is beyond is counted as `other`.
    static let labelLimit = 200
    /// Upper bounds of buckets: 100 µs doubled so many times, from 1.6 ms to almost two hours.
    private static let doublings = Array(4...20) + [22, 24, 26]

    func families() -> [MetricFamily] {
        var families = [
            MetricFamily(
                "errand_ready", .gauge, "Whether work may be expected of this process, as /readyz",
                vitals.trouble == nil ? 1 : 0)
        ]
        if let silence = vitals.sinceBeat {
            families.append(
                MetricFamily(
                    "errand_heartbeat_age_seconds", .gauge,
                    "How long ago PostgreSQL took this process's last heartbeat",
                    silence / .seconds(1)))
        }
        families.append(connects())
        if let numbers = vitals.numbers {
            families += jobs(numbers) + slots(numbers) + pools(numbers)
            families += [
                MetricFamily(
                    "errand_lease_losses", .counter,
                    "How often this worker was declared dead while it was only silent",
                    Double(vitals.leaseLosses)),
                MetricFamily(
                    "errand_jobs_fenced_off", .counter,
                    "Endings that came too late: the job was another worker's by then",
                    Double(numbers.fencedOff)),
                MetricFamily(
                    "errand_jobs_handed_back", .counter, "Jobs given back unfinished",
                    Double(numbers.handedBack)),
            ]
        }
        return families
    }

    private func connects() -> MetricFamily {
        var family = MetricFamily(
            "errand_connects", .counter, "Attempts to connect to a server, by their result")
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
            "errand_jobs_started", .counter, "Jobs that this process began for the first time")
        var ended = MetricFamily(
            "errand_jobs_ended", .counter, "Attempts that ended in this process, by their outcome")
        var waits = MetricFamily(
            "errand_job_wait_seconds", .histogram, "From when a job was due to its start")
        var runs = MetricFamily(
            "errand_job_run_seconds", .histogram, "From the start of an attempt to its end")
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
        _ kinds: [String: ActivityPage]
    ) -> [(kind: String, page: ActivityPage)] {
        let sorted = kinds.sorted { $0.key < $1.key }.map { (kind: $0.key, page: $0.value) }
        guard sorted.count > Self.labelLimit else { return sorted }
        let rest = sorted[Self.labelLimit...].map(\.page)
        return sorted[..<Self.labelLimit] + [("other", ActivityPage(merging: rest))]
    }

    private static func distribution(
        _ histogram: DurationHistogram, sum milliseconds: Double
    ) -> MetricFamily.Distribution {
        // A division of whole numbers is exact to the last digit that is printed.
        let bounds = doublings.map { Double(1 << $0) / 10_000 }
        let counts = histogram.counts(upToDoublings: doublings)
        return MetricFamily.Distribution(
            buckets: zip(bounds, counts).map { (bound: $0, count: $1) }, count: histogram.total,
            sum: milliseconds / 1_000)
    }

    private func slots(_ numbers: WorkerNumbers) -> [MetricFamily] {
        var concurrency = MetricFamily(
            "errand_worker_concurrency", .gauge, "Jobs of a queue that this process runs at once")
        var running = MetricFamily(
            "errand_worker_running_jobs", .gauge, "Jobs that this process runs now")
        var waiting = MetricFamily(
            "errand_worker_waiting_jobs", .gauge, "Jobs that it has claimed and not begun")
        var paused = MetricFamily(
            "errand_worker_paused", .gauge,
            "Whether it takes no jobs of a queue, as somebody asked")
        var claims = MetricFamily(
            "errand_claims", .counter, "Claims that brought this process jobs")
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
            "errand_pool_sessions_limit", .gauge, "Sessions of PostgreSQL that a pool may lend")
        var lent = MetricFamily(
            "errand_pool_sessions_in_use", .gauge, "Sessions of PostgreSQL that are lent now")
        var waiting = MetricFamily(
            "errand_pool_waiters", .gauge, "Those who wait for a session of a pool")
        for pool in numbers.pools {
            limit.add(pool.limit, ("pool", pool.name))
            lent.add(pool.lent, ("pool", pool.name))
            waiting.add(pool.waiting, ("pool", pool.name))
        }
        return [limit, lent, waiting]
    }
}
