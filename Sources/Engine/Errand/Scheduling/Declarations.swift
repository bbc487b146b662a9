import FoundationEssentials
package import ErrandPostgres

extension JobKinds {
    /// What `errand.enqueue()` should know of the kinds, and the schedules whose jobs these queues
    /// get.
    ///
    /// A schedule whose queue nobody works would leave a job that waits for ever, and nothing but
    /// skipped occurrences behind it: whoever works the queue declares it.
    package func declarations(schedulesOf queues: Set<String>) throws -> [Statement] {
        // In one order for all: workers that start together must not wait for each other in a ring.
        let kinds = registrations.values.sorted { $0.kind < $1.kind }.map { known in
            Statement(
                Statements.declareKind,
                [
                    .text(known.kind), .int16(Int16(known.version)), .text(known.options.queue),
                    .int16(known.options.priority.rawValue),
                    .int16(Int16(known.options.maxAttempts)),
                    .textArray(known.sensitive.sorted()),
                ])
        }
        return try kinds
            + schedules.values.filter { queues.contains(queue(of: $0)) }
            .sorted { $0.name < $1.name }.map { schedule in
                Statement(
                    Statements.putSchedule,
                    [
                        .text(schedule.name),
                        .json(Array(try JSONEncoder().encode(ScheduleSettings(schedule)))),
                        .json(schedule.args), .null,
                    ])
            }
    }

    /// The queues that get the jobs of schedules.
    package var scheduledQueues: Set<String> { Set(schedules.values.map(queue(of:))) }

    private func queue(of schedule: Schedule) -> String {
        schedule.queue ?? registrations[schedule.kind]?.options.queue ?? "default"
    }
}
