import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

@Suite("Local queue") struct LocalQueueTests {
    struct Other: Job {
        static let kind = "test.other"
        static let options = JobOptions(queue: "other")
        var n: Int
    }

    private func queue(
        concurrency: Int = 2, batch limit: Int = 1, otherBatch: Int = 1
    ) -> LocalQueue {
        var kinds = JobKinds()
        kinds.handle(Note.self) { _, _ in }
        if limit > 1 {
            kinds.handleBatch(Plain.self, upTo: limit) { $0.items.map { _ in .done } }
        } else {
            kinds.handle(Plain.self) { _, _ in }
        }
        kinds.handleBatch(Other.self, upTo: otherBatch) { $0.items.map { _ in .done } }
        return LocalQueue(options: .init("default", concurrency: concurrency), kinds: kinds)
    }

    private func jobs(
        _ ids: ClosedRange<Int64>, _ kind: String = Plain.kind, version: Int = 1
    ) -> [ClaimedJob] {
        ids.map { id in
            ClaimedJob(
                id: id, token: 7, lane: Lane(queue: "default", kind: kind, version: version),
                attempt: 1, maxAttempts: 3, priority: 2, runAt: Instant(microseconds: id),
                notAfter: nil, isCancelRequested: false, args: Array("{}".utf8), overrides: nil)
        }
    }

    private func ids(_ unit: [ClaimedJob]?) -> [Int64]? { unit?.map(\.id) }

    @Test func `an idle queue of short jobs takes a burst in one portion`() async {
        let queue = queue(concurrency: 5)
        func run(_ id: Int64, took duration: Float) async {
            _ = queue.add(jobs(id...id))
            _ = await queue.next()
            _ = queue.finished(1, took: duration)
        }
        #expect(queue.wanted() == 5, "nothing is known of its jobs yet")
        for id in 1...3 { await run(Int64(id), took: 0.5) }
        #expect(queue.wanted() == 25)
        _ = queue.add(jobs(11...11))
        _ = await queue.next()
        #expect(queue.wanted() < 25, "something runs, and for how long is not known")
        _ = queue.finished(1, took: 60_000)
        #expect(queue.wanted() < 7, "jobs take long; others may have them")
    }

    @Test func `it wants as many as may run, less those it has`() async {
        let queue = queue(concurrency: 5)
        #expect(queue.wanted() == 5)
        #expect(queue.add(jobs(1...3)).starting == 3)
        #expect(queue.wanted() == 0, "what waits is to be started first")
        for _ in 0..<3 { _ = await queue.next() }
        #expect(queue.wanted() == 2)
        #expect(queue.add(jobs(4...5)).starting == 2)
        for _ in 0..<2 { _ = await queue.next() }
        #expect(queue.wanted() == 0)
        #expect(queue.counts.busy == 5)
        #expect(queue.counts.waiting == 0)
    }

    @Test func `the end of a job makes room for another`() async {
        let queue = queue(concurrency: 1)
        #expect(queue.add(jobs(1...1)).starting == 1)
        #expect(ids(await queue.next()) == [1])
        #expect(queue.wanted() == 0)
        #expect(queue.finished(1))
        #expect(queue.counts.busy == 0)
        #expect(queue.counts.finished == 1)
        #expect(queue.wanted() > 0)
    }

    @Test func `jobs are run in the order in which they came`() async {
        let queue = queue()
        _ = queue.add(jobs(5...6))
        _ = queue.add(jobs(1...2))
        for id in [5, 6, 1, 2] as [Int64] { #expect(ids(await queue.next()) == [id]) }
        #expect(queue.counts.waiting == 0)
    }

    @Test func `as many runners start as there are jobs and slots`() async {
        let queue = queue(concurrency: 3)
        #expect(queue.add([]).starting == 0)
        #expect(queue.add(jobs(1...2)).starting == 2)
        #expect(queue.add(jobs(3...6)).starting == 1)
        #expect(queue.add(jobs(7...7)).starting == 0)
        for id in 1...7 as ClosedRange<Int64> { #expect(ids(await queue.next()) == [id]) }
        #expect(queue.add(jobs(8...20)).starting == 0, "those that were started stay")
    }

    @Test func `a runner that waits is given the next job, and ends with the queue`() async {
        let queue = queue(concurrency: 1)
        #expect(queue.add(jobs(1...1)).starting == 1)
        let seen = Task {
            var seen: [Int64] = []
            while let unit = await queue.next() {
                seen += unit.map(\.id)
                _ = queue.finished(unit.count)
            }
            return seen
        }
        while queue.counts.finished < 1 { await Task.yield() }
        #expect(queue.add(jobs(2...3)).starting == 0)
        while queue.counts.finished < 3 { await Task.yield() }
        #expect(queue.close().isEmpty)
        #expect(await seen.value == [1, 2, 3])
        #expect(await queue.next() == nil)
        #expect(queue.add(jobs(4...4)).refused.map(\.id) == [4], "it is closed")
    }

    @Test func `jobs of a batch kind go together up to its limit`() async {
        let queue = queue(concurrency: 2, batch: 3)
        #expect(queue.wanted() == 4, "two slots, and two more to fill a batch")
        #expect(queue.add(jobs(1...7)).starting == 2)
        #expect(ids(await queue.next()) == [1, 2, 3])
        #expect(queue.counts.busy == 3)
        #expect(queue.counts.waiting == 4)
        #expect(ids(await queue.next()) == [4, 5, 6])
        #expect(ids(await queue.next()) == [7])
        #expect(queue.counts.waiting == 0)
    }

    @Test func `a batch that waits is filled up by the next claim`() async {
        let queue = queue(batch: 3)
        #expect(queue.add(jobs(1...1)).starting == 1)
        #expect(queue.add(jobs(2...4)).starting == 1)
        #expect(ids(await queue.next()) == [1, 2, 3])
        _ = queue.add(jobs(5...5))
        #expect(ids(await queue.next()) == [4, 5])
        #expect(queue.counts.waiting == 0)
    }

    @Test func `a batch that was taken gets no more jobs`() async {
        let queue = queue(batch: 3)
        _ = queue.add(jobs(1...2))
        #expect(ids(await queue.next()) == [1, 2])
        _ = queue.add(jobs(3...3))
        #expect(ids(await queue.next()) == [3])
        #expect(queue.counts.busy == 3)
    }

    @Test func `a batch holds one kind and one version of its arguments`() async {
        let queue = queue(batch: 10)
        _ = queue.add(jobs(1...2))
        _ = queue.add(jobs(3...4, Note.kind))
        _ = queue.add(jobs(5...6))
        _ = queue.add(jobs(7...8, version: 2))
        for unit in [[1, 2], [3], [4], [5, 6], [7, 8]] as [[Int64]] {
            #expect(ids(await queue.next()) == unit)
        }
    }

    @Test func `the batches of another queue's kinds claim nothing ahead here`() {
        #expect(queue(concurrency: 2, otherBatch: 50).wanted() == 2)
    }

    @Test func `one claim never asks for more than its limit beyond the slots`() {
        let queue = queue(concurrency: 4, batch: 100_000)
        #expect(queue.wanted() == 4 + LocalQueue.claimLimit)
    }

    @Test func `a pause hands back what has not started and wants no more`() async {
        let queue = queue(concurrency: 2, batch: 2)
        _ = queue.add(jobs(1...5))
        #expect(ids(await queue.next()) == [1, 2])
        #expect(!queue.isPaused)
        #expect(queue.setPaused(true).map(\.id) == [3, 4, 5])
        #expect(queue.isPaused)
        #expect(queue.wanted() == 0)
        #expect(queue.counts.waiting == 0)
        #expect(queue.counts.busy == 2)
        #expect(queue.counts.waiting == 0)
        #expect(!queue.finished(2), "a paused queue asks for nothing when its jobs end")
        #expect(queue.isIdle)
        #expect(queue.setPaused(true).isEmpty)
        #expect(queue.setPaused(false).isEmpty)
        #expect(queue.wanted() > 0)
    }

    @Test func `a claim that a pause overtook is refused`() async {
        let queue = queue(concurrency: 2)
        _ = queue.setPaused(true)
        let taken = queue.add(jobs(1...3))
        #expect(taken.refused.map(\.id) == [1, 2, 3])
        #expect(taken.starting == 0)
        #expect(queue.isIdle)
        _ = queue.setPaused(false)
        #expect(queue.add(jobs(7...9)).starting == 2)
        #expect(ids(await queue.next()) == [7])
    }

    @Test func `a pause makes a flooded queue calm`() {
        let queue = queue()
        queue.isSaturated = true
        _ = queue.setPaused(true)
        #expect(!queue.isSaturated)
    }

    @Test func `what waits can be taken back once`() async {
        let queue = queue()
        _ = queue.add(jobs(1...4))
        _ = await queue.next()
        #expect(queue.takeWaiting().map(\.id) == [2, 3, 4])
        #expect(queue.takeWaiting().isEmpty)
        #expect(queue.counts.waiting == 0)
        #expect(!queue.isIdle)
        _ = queue.finished(1)
        #expect(queue.isIdle)
    }

    @Test func `the wake-up is requested only while nothing is wanted, and taken once`() async {
        let queue = queue(concurrency: 1)
        #expect(!queue.wakeWhenWanted())
        #expect(!queue.takeWakeUp())
        _ = queue.add(jobs(1...1))
        _ = await queue.next()
        #expect(queue.wakeWhenWanted())
        #expect(queue.takeWakeUp())
        #expect(!queue.takeWakeUp())
        _ = queue.setPaused(true)
        #expect(queue.wakeWhenWanted(), "a paused queue wants nothing")
    }

    @Test func `failures are counted for the heartbeat`() async {
        let queue = queue()
        _ = queue.add(jobs(1...2))
        _ = await queue.next()
        queue.countFailure()
        _ = queue.finished(1)
        let counts = queue.counts
        #expect(counts == (busy: 0, waiting: 1, finished: 1, failed: 1))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `whatever happens, each job comes out once and the counts agree`(_ seed: UInt64) async {
        var random = SplitMix(seed: seed)
        let queue = queue(concurrency: 3, batch: 4)
        var given: Int64 = 0
        var out: [Int64] = []
        var running: [Int] = []
        var runners = 0
        for step in 0..<3_000 {
            switch random.number(0..<8) {
            case 0, 1:
                let count = Int64(1 + random.number(0..<6))
                let kind = random.number(0..<2) == 0 ? Plain.kind : Note.kind
                let taken = queue.add(jobs(given + 1...given + count, kind))
                runners += taken.starting
                out += taken.refused.map(\.id)
                given += count
            case 2...4 where running.count < runners && queue.counts.waiting > 0:
                if let unit = await queue.next() {
                    out += unit.map(\.id)
                    running.append(unit.count)
                }
            case 5, 6: if let count = running.popLast() { _ = queue.finished(count) }
            case 7: out += queue.setPaused(random.number(0..<2) == 0).map(\.id)
            default: break
            }
            let counts = queue.counts
            #expect(runners <= 3, "seed \(seed), step \(step)")
            #expect(counts.busy == running.reduce(0, +), "seed \(seed), step \(step)")
            #expect(counts.waiting == Int(given) - out.count, "seed \(seed), step \(step)")
        }
        out += queue.close().map(\.id)
        #expect(out == Array(1...given), "they come out in their order")
    }
}
