import FoundationEssentials
package import ErrandPostgres

extension JobKinds {
    /// Returns the statements that declare the kinds for `errand.enqueue()`, what modules declare,
    /// and the schedules of some queues.
    ///
    /// Only workers of its queue declare a schedule: without a worker, its first job would wait
    /// forever and its further occurrences would be skipped.
    package func declarations(
        schedulesOf isServed: (_ queue: String) -> Bool
    ) throws -> [Statement] {
        // A fixed order, so that workers that start together cannot deadlock.
        let kinds = registrations.values.sorted { $0.kind < $1.kind }.map { known in
            Statement(
                Statements.declareKind,
                [
                    .text(known.kind), .int16(Int16(known.version)), .text(known.options.queue),
                    .int16(known.options.priority.rawValue),
                    .int16(Int16(known.options.maxAttempts)),
                    .textArray(known.sensitive.sorted()),
                    .int16(known.options.retentionDays ?? 0), .bool(known.isOpenToApps),
                ])
        }
        return try kinds + moduleDeclarations
            + schedules.values.filter { isServed(queue(of: $0)) }
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

    /// The queues of the schedules' jobs.
    package var scheduledQueues: Set<String> { Set(schedules.values.map(queue(of:))) }

    private func queue(of schedule: Schedule) -> String {
        schedule.queue ?? registrations[schedule.kind]?.options.queue ?? "default"
    }
}
