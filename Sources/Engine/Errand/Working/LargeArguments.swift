import ErrandMemory
import ErrandPostgres

/// The reading of large arguments when their jobs start, so that only running jobs hold them.
extension Runner {
    /// How many jobs' arguments are in one result.
    private static let portion = 16

    /// Returns the jobs with their arguments.
    ///
    /// A job keeps none if they could not be read: it is to be requeued. If another worker has it
    /// by now, the fence refuses that.
    func withLargeArguments(_ jobs: [ClaimedJob]) async -> [ClaimedJob] {
        var jobs = jobs
        let large = jobs.indices.filter { jobs[$0].args == nil }
        for start in stride(from: 0, to: large.count, by: Self.portion) {
            let places = large[start..<min(start + Self.portion, large.count)]
            do {
                let rows = try await engine.query(
                    Statements.largeArguments,
                    [
                        .int64Array(places.map { jobs[$0].id }),
                        .int64Array(places.map { jobs[$0].token }),
                    ])
                for row in 0..<rows.count {
                    let id = try rows.int64(row, 0)
                    guard let place = places.first(where: { jobs[$0].id == id }) else { continue }
                    jobs[place] = jobs[place].with(args: try rows.json(row, 1))
                }
            } catch {
                log.warning(
                    "the arguments of \(places.count) jobs could not be read, and the jobs are "
                        + "requeued: \(error)")
                // They are popped again at once.
                try? await Task.sleep(for: .seconds(1))
            }
        }
        // A copy for the handler, and the decoded job, take at least as much again.
        freed.add(large.reduce(0) { $0 + 3 * (jobs[$1].args?.count ?? 0) })
        return jobs
    }
}
