import FoundationEssentials
import Glibc
package import Errand
import ErrandPostgres

/// Kinds of job for trials and tests of Errand; they do no useful work.
package enum DemoKinds {
    /// Does nothing; accepts any arguments.
    package struct Noop: Job {
        package static let kind = "demo.noop"
        package static let isOpenToApps = true

        package init() {}
    }

    /// Sleeps; ends immediately when cancelled.
    package struct Sleep: Job {
        package static let kind = "demo.sleep"
        package static let isOpenToApps = true
        package var ms: Int

        package init(ms: Int) { self.ms = ms }
    }

    /// Fails its first attempts.
    package struct Fail: Job {
        package static let kind = "demo.fail"
        package static let isOpenToApps = true
        package static let options = JobOptions(
            maxAttempts: 5, backoff: Backoff(base: 0.2, factor: 2, ceiling: 10))
        package var times: Int

        package init(times: Int) { self.times = times }
    }

    /// Exits the worker process, if permitted.
    package struct Exit: Job {
        package static let kind = "demo.exit"
        package static let isOpenToApps = true
        package static let options = JobOptions(maxAttempts: 3)

        package init() {}
    }

    /// Writes a row into errand.demo_ledger in the transaction that completes the job.
    package struct Ledger: Job {
        package static let kind = "demo.ledger"
        package static let isOpenToApps = true

        package init() {}
    }

    struct MeantToFail: Error, CustomStringConvertible {
        var attempt: Int
        var times: Int
        var description: String { "failed on purpose, \(attempt) of \(times) times" }
    }

    /// Registers the kinds.
    ///
    /// - Parameter mayExit: whether ``Exit`` stops its worker. Otherwise the job dies, as the
    ///   right to enqueue must not include stopping workers.
    package static func add(to kinds: inout JobKinds, mayExit: Bool = false) {
        kinds.handle(Noop.self) { _, _ in }
        kinds.handle(Sleep.self) { job, _ in try await Task.sleep(for: .milliseconds(job.ms)) }
        kinds.handle(Fail.self) { job, context in
            guard context.attempt > job.times else {
                throw MeantToFail(attempt: context.attempt, times: job.times)
            }
        }
        kinds.handleWithOutcome(Exit.self) { _, _ in
            guard mayExit else {
                return .dead(reason: "\(Exit.kind) stops only workers with ERRAND_DEMO_EXIT=1")
            }
            _exit(70)
        }
        kinds.handle(Ledger.self) { _, context in
            try await context.database.transaction { transaction in
                _ = try await transaction.query(
                    "INSERT INTO errand.demo_ledger (job_id, queue) VALUES ($1, $2)",
                    [.int64(context.id), .text(context.queue)])
                try await context.complete(in: transaction)
            }
        }
    }
}
