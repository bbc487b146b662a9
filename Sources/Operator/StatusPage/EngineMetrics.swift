import ErrandAdministration
import Errand
import ErrandPostgres

/// The gauges of the whole database, the same from every process that answers.
struct EngineMetrics {
    let numbers: EngineNumbers

    /// Queues beyond so many are left out, the emptiest first; `errand status` has them all.
    private static let queueLimit = 200

    func families() -> [MetricFamily] {
        var workers = MetricFamily(
            "errand_workers", .gauge, "Workers of the database, by whether they show themselves")
        workers.add(
            numbers.workers.alive - numbers.workers.stopping, ("state", "working"))
        workers.add(numbers.workers.stopping, ("state", "stopping"))
        workers.add(numbers.workers.silent, ("state", "silent"))
        var leads = MetricFamily(
            "errand_leader", .gauge, "Whether some process leads in the duties, or the schedules")
        for lead in numbers.leads { leads.add(lead.isHeld ? 1 : 0, ("lead", lead.lead)) }
        var schedules = MetricFamily("errand_schedules", .gauge, "Schedules, by their state")
        schedules.add(numbers.schedules.count - numbers.schedules.paused, ("state", "active"))
        schedules.add(
            numbers.schedules.paused - numbers.schedules.pausedByFailures, ("state", "paused"))
        schedules.add(numbers.schedules.pausedByFailures, ("state", "paused_by_failures"))
        return queues() + [
            workers, leads, schedules,
            MetricFamily(
                "errand_schedules_overdue", .gauge, "Schedules that are late by a minute or more",
                Double(numbers.schedules.overdue)),
            MetricFamily(
                "errand_schedule_lateness_seconds", .gauge,
                "By how much the schedule that has waited longest is late",
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
            "Jobs of a queue by their state; estimated where there are many")
        var estimated = MetricFamily(
            "errand_queue_estimated", .gauge, "Whether the counts of a queue are estimates")
        var oldest = MetricFamily(
            "errand_queue_oldest_wait_seconds", .gauge,
            "For how long the job that is due and free has waited longest; 0 when none is")
        var paused = MetricFamily(
            "errand_queue_paused", .gauge, "Whether an operator has paused a queue")
        var workers = MetricFamily(
            "errand_queue_workers", .gauge, "Live workers that work a queue")
        var slots = MetricFamily(
            "errand_queue_slots", .gauge, "Jobs of a queue that they run at once at most")
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
