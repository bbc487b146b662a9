import ErrandAdministration
import Errand
import ErrandPostgres

/// The gauges of the whole database, which every process reports alike.
struct EngineMetrics {
    let numbers: EngineNumbers

    /// The maximum number of queues; the emptiest are left out.
    ///
    /// `errand status` shows all.
    private static let queueLimit = 200

    func families() -> [MetricFamily] {
        var workers = MetricFamily(
            "errand_workers", .gauge, "Registered workers of the database by state")
        workers.add(
            numbers.workers.alive - numbers.workers.stopping, ("state", "working"))
        workers.add(numbers.workers.stopping, ("state", "stopping"))
        workers.add(numbers.workers.unresponsive, ("state", "unresponsive"))
        var leads = MetricFamily(
            "errand_leader", .gauge, "Whether a process holds the role of feeder or scheduler")
        for role in numbers.roles { leads.add(role.isHeld ? 1 : 0, ("role", role.role)) }
        var schedules = MetricFamily("errand_schedules", .gauge, "Schedules by state")
        schedules.add(numbers.schedules.count - numbers.schedules.paused, ("state", "active"))
        schedules.add(
            numbers.schedules.paused - numbers.schedules.pausedByFailures, ("state", "paused"))
        schedules.add(numbers.schedules.pausedByFailures, ("state", "paused_by_failures"))
        return queues() + [
            workers, leads, schedules,
            MetricFamily(
                "errand_schedules_overdue", .gauge, "Schedules overdue by a minute or more",
                Double(numbers.schedules.overdue)),
            MetricFamily(
                "errand_schedule_lateness_seconds", .gauge,
                "Lateness of the longest overdue schedule in seconds; 0 if none is",
                numbers.scheduleLateness / .seconds(1)),
        ]
    }

    private var shown: [QueueRecord] {
        guard numbers.queues.count > Self.queueLimit else { return numbers.queues }
        func size(_ queue: QueueRecord) -> Int {
            queue.available + queue.scheduled + queue.retrying + queue.running + queue.dead
        }
        let most = numbers.queues.sorted { size($0) > size($1) }.prefix(Self.queueLimit)
        return most.sorted { $0.name < $1.name }
    }

    private func queues() -> [MetricFamily] {
        var depth = MetricFamily(
            "errand_queue_jobs", .gauge,
            "Jobs of a queue by state; an estimate if there are many")
        var estimated = MetricFamily(
            "errand_queue_estimated", .gauge, "Whether the counts of a queue are estimates")
        var oldest = MetricFamily(
            "errand_queue_oldest_wait_seconds", .gauge,
            "Wait of the oldest due job that is not running, in seconds; 0 if there is none")
        var paused = MetricFamily(
            "errand_queue_paused", .gauge, "Whether a queue is paused")
        var workers = MetricFamily(
            "errand_queue_workers", .gauge, "Live workers of a queue")
        var slots = MetricFamily(
            "errand_queue_slots", .gauge, "Total concurrency of a queue's live workers")
        for queue in shown {
            let label = (name: "queue", value: queue.name)
            for (state, count) in [
                ("available", queue.available), ("scheduled", queue.scheduled),
                ("retrying", queue.retrying), ("running", queue.running), ("dead", queue.dead),
            ] {
                depth.add(count, label, ("state", state))
            }
            estimated.add(queue.isEstimate ? 1 : 0, label)
            let wait = queue.oldestWait(at: numbers.now) ?? .zero
            oldest.add(wait / .seconds(1), label)
            paused.add(queue.pausedAt == nil ? 0 : 1, label)
            workers.add(queue.workers, label)
            slots.add(queue.slots, label)
        }
        return [depth, estimated, oldest, paused, workers, slots]
    }
}
