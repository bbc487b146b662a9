@testable import ErrandAdministration
import ErrandPostgres
import Testing

@testable import Errand

/// Why a job does not run, from what was read of it; no server.
@Suite("Causes") struct JobCauseTests {
    private static let now = Instant(microseconds: 1_800_000_000_000_000)
    private static let lane = Lane(queue: "mail", kind: "mail.send", version: 2)

    /// A waiting job, due for a second, that a live worker could run at once.
    private static func job(
        _ state: JobState = .available, due: Duration = .seconds(-1),
        _ change: (inout JobDiagnosis) -> Void = { _ in }
    ) -> JobDiagnosis {
        var job = JobDiagnosis(
            id: 7, lane: lane, state: state, runAt: now.adding(due), now: now)
        job.workers = [worker()]
        change(&job)
        return job
    }

    private static func worker(
        queue: String = "mail", kinds: [String] = ["mail.send@2"], stopping: Bool = false,
        busy: Int = 0, rate: Double = 0
    ) -> JobDiagnosis.LiveWorker {
        queue == lane.queue
            ? .init(stopping: stopping, slots: 4, busy: busy, rate: rate, kinds: kinds)
            : .init(stopping: stopping, others: [queue], kinds: kinds)
    }

    private static func held(
        silent: Duration, _ change: (inout JobDiagnosis) -> Void = { _ in }
    ) -> JobDiagnosis {
        job(.running) { job in
            job.startedAt = now.adding(.seconds(-90))
            job.holder = .init(
                id: 3, host: "a", pid: 1, lastSeenAt: now.adding(.zero - silent),
                lease: .seconds(30), isKnown: true)
            change(&job)
        }
    }

    private static let pause = JobDiagnosis.Pause(at: now, by: "op", reason: "rent day")

    struct Case: CustomTestStringConvertible {
        var name: String
        var job: JobDiagnosis
        var causes: [JobCause]
        var testDescription: String { name }
    }

    private static let ends: [Case] = [
        Case(name: "completed", job: job(.completed), causes: [.completed]),
        Case(name: "cancelled", job: job(.cancelled), causes: [.cancelled]),
        Case(name: "dead, queue paused", job: job(.dead) { $0.pause = pause }, causes: [.dead]),
        Case(name: "runs", job: held(silent: .seconds(1)), causes: [.running]),
        Case(
            name: "runs, paused meanwhile",
            job: held(silent: .seconds(1)) { $0.pause = pause }, causes: [.running]),
        Case(
            name: "within its time",
            job: held(silent: .zero) { $0.timeout = .seconds(91) }, causes: [.running]),
        Case(
            name: "over its time",
            job: held(silent: .zero) { $0.timeout = .seconds(89) }, causes: [.overtime]),
        Case(
            name: "cancel requested",
            job: held(silent: .zero) { $0.isCancelRequested = true }, causes: [.cancelling]),
        Case(
            name: "silent within the lease", job: held(silent: .seconds(16)),
            causes: [.holderUnresponsive(.seconds(16))]),
        Case(
            name: "silent past the lease", job: held(silent: .seconds(99)),
            causes: [.holderUnresponsive(.seconds(99))]),
        Case(
            name: "worker gone", job: job(.running) { $0.holder = .init(id: 3) },
            causes: [.holderGone]),
    ]

    private static let waits: [Case] = [
        Case(
            name: "deadline passed",
            job: job { $0.notAfter = now.adding(.seconds(-1)) },
            causes: [.tooLate(now.adding(.seconds(-1)))]),
        Case(
            name: "deadline to come", job: job { $0.notAfter = now.adding(.seconds(1)) },
            causes: [.ready(.seconds(1))]),
        Case(
            name: "not due", job: job(.scheduled, due: .seconds(12)),
            causes: [.scheduled(.seconds(12))]),
        Case(
            name: "not due, and then paused",
            job: job(.scheduled, due: .seconds(12)) { $0.pause = pause },
            causes: [.scheduled(.seconds(12)), .paused(pause)]),
        Case(
            name: "retrying", job: job(.retrying, due: .seconds(30)) { $0.attempt = 2 },
            causes: [.retrying(.seconds(30))]),
        Case(
            name: "retrying, due", job: job(.retrying) { $0.attempt = 2 },
            causes: [.ready(.seconds(1))]),
        Case(name: "paused", job: job { $0.pause = pause }, causes: [.paused(pause)]),
        Case(
            name: "paused, and nobody there",
            job: job {
                $0.pause = pause
                $0.workers = []
            }, causes: [.paused(pause), .noWorker]),
    ]

    private static let workers: [Case] = [
        Case(name: "no worker", job: job { $0.workers = [] }, causes: [.noWorker]),
        Case(
            name: "another queue",
            job: job { $0.workers = [worker(queue: "b"), worker(queue: "a")] },
            causes: [.queueUnworked(["a", "b"])]),
        Case(
            name: "another kind", job: job { $0.workers = [worker(kinds: ["x@1", "y@1", "x@2"])] },
            causes: [.kindUnknown(["x", "y"])]),
        Case(
            name: "known only in another queue",
            job: job { $0.workers = [worker(queue: "b"), worker(kinds: ["x@1"])] },
            causes: [.kindUnknown(["x"])]),
        Case(
            name: "another version",
            job: job { $0.workers = [worker(kinds: ["mail.send@1", "mail.send@3"])] },
            causes: [.versionUnknown([1, 3])]),
        Case(
            name: "stopping", job: job { $0.workers = [worker(stopping: true)] },
            causes: [.stopping]),
        Case(
            name: "one of two stops",
            job: job { $0.workers = [worker(stopping: true), worker()] },
            causes: [.ready(.seconds(1))]),
        Case(
            name: "Redis away", job: job { $0.window = .unreachable("refused") },
            causes: [.redisUnreachable("refused")]),
        Case(
            name: "Redis emptied, and a backlog",
            job: job {
                $0.window = .emptied
                $0.ahead = 10
            }, causes: [.redisEmptied]),
    ]

    private static let line: [Case] = [
        Case(
            name: "behind others",
            job: job {
                $0.ahead = 30
                $0.workers = [worker(rate: 2), worker(rate: 1), worker(queue: "b", rate: 50)]
            }, causes: [.behind(count: 30, isCapped: false, wait: .seconds(10))]),
        Case(
            name: "behind very many, at a standstill",
            job: job { $0.ahead = 20_000 },
            causes: [.behind(count: 20_000, isCapped: true, wait: nil)]),
        Case(
            name: "slots busy", job: job { $0.workers = [worker(busy: 4)] },
            causes: [.slotsBusy(4)]),
        Case(
            name: "one slot free", job: job { $0.workers = [worker(busy: 4), worker(busy: 3)] },
            causes: [.ready(.seconds(1))]),
        Case(
            name: "just due, not staged yet", job: job { $0.window = .absent },
            causes: [.ready(.seconds(1))]),
        Case(
            name: "long due, not staged", job: job(due: .seconds(-3)) { $0.window = .absent },
            causes: [.unstaged]),
        Case(
            name: "long due, staged", job: job(due: .seconds(-3)) { $0.window = .staged },
            causes: [.ready(.seconds(3))]),
    ]

    @Test(arguments: ends + waits + workers + line)
    func `the cause is named`(_ row: Case) {
        #expect(row.job.causes == row.causes)
    }

    @Test func `the pace is that of the last minute`() {
        var pace = ThroughputMeter()
        let start = ContinuousClock.now
        #expect(pace.rate(of: "a") == 0)
        pace.note([("a", 100)], at: start)
        #expect(pace.rate(of: "a") == 0)
        pace.note([("a", 400)], at: start + .seconds(30))
        #expect(pace.rate(of: "a") == 10)
        #expect(pace.rate(of: "b") == 0)
        pace.note([("a", 400)], at: start + .seconds(60))
        pace.note([("a", 460)], at: start + .seconds(90))
        #expect(pace.rate(of: "a") == 1)
        for tick in 1...100 {
            pace.note([("a", 460)], at: start + .seconds(90) + .milliseconds(tick))
        }
        #expect(pace.rate(of: "a") < 1.01)
    }
}
