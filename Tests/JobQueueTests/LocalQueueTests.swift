import Postgres
import Testing

@testable import JobQueue

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

    @Test func `it takes every kind that the program can run, in its own lanes`() {
        #expect(
            Set(queue().lanes)
                == Set(
                    [Note.kind, Plain.kind, Other.kind].map {
                        Lane(queue: "default", kind: $0, version: 1)
                    }))
    }

    @Test func `it wants as many as may run, less those it has`() {
        let queue = queue(concurrency: 5)
        #expect(queue.wanted() == 5)
        #expect(queue.add(jobs(1...3)) == 3)
        #expect(queue.wanted() == 0, "what waits is to be started first")
        for _ in 0..<3 { _ = queue.next() }
        #expect(queue.wanted() == 2)
        #expect(queue.add(jobs(4...5)) == 2)
        for _ in 0..<2 { _ = queue.next() }
        #expect(queue.wanted() == 0)
        #expect(queue.counts.busy == 5)
        #expect(queue.counts.waiting == 0)
    }

    @Test func `the end of a job makes room for another`() {
        let queue = queue(concurrency: 1)
        #expect(queue.add(jobs(1...1)) == 1)
        #expect(ids(queue.next()) == [1])
        #expect(queue.wanted() == 0)
        #expect(queue.finished(1))
        #expect(queue.counts.busy == 0)
        #expect(queue.counts.finished == 1)
        #expect(queue.wanted() > 0)
    }

    @Test func `jobs are run in the order in which they came`() {
        let queue = queue()
        _ = queue.add(jobs(5...6))
        _ = queue.add(jobs(1...2))
        #expect((0..<4).map { _ in ids(queue.next()) } == [[5], [6], [1], [2]])
        #expect(queue.next() == nil)
    }

    @Test func `as many runners start as there are jobs and slots`() {
        let queue = queue(concurrency: 3)
        #expect(queue.add([]) == 0)
        #expect(queue.add(jobs(1...2)) == 2)
        #expect(queue.add(jobs(3...6)) == 1)
        #expect(queue.add(jobs(7...7)) == 0)
        // Each runner takes on until there is nothing left, and then ends.
        for id in 1...7 as ClosedRange<Int64> { #expect(ids(queue.next()) == [id]) }
        for _ in 0..<3 { #expect(queue.next() == nil) }
        #expect(queue.add(jobs(8...20)) == 3)
    }

    @Test func `jobs of a batch kind go together up to its limit`() {
        let queue = queue(concurrency: 2, batch: 3)
        #expect(queue.wanted() == 4, "two slots, and two more to fill a batch")
        #expect(queue.add(jobs(1...7)) == 2)
        #expect(ids(queue.next()) == [1, 2, 3])
        #expect(queue.counts.busy == 3)
        #expect(queue.counts.waiting == 4)
        #expect(ids(queue.next()) == [4, 5, 6])
        #expect(ids(queue.next()) == [7])
        #expect(queue.next() == nil)
    }

    @Test func `a batch that waits is filled up by the next claim`() {
        let queue = queue(batch: 3)
        #expect(queue.add(jobs(1...1)) == 1)
        #expect(queue.add(jobs(2...4)) == 1)
        #expect(ids(queue.next()) == [1, 2, 3])
        _ = queue.add(jobs(5...5))
        #expect(ids(queue.next()) == [4, 5])
        #expect(queue.next() == nil)
    }

    @Test func `a batch that was taken gets no more jobs`() {
        let queue = queue(batch: 3)
        _ = queue.add(jobs(1...2))
        #expect(ids(queue.next()) == [1, 2])
        _ = queue.add(jobs(3...3))
        #expect(ids(queue.next()) == [3])
        #expect(queue.counts.busy == 3)
    }

    @Test func `a batch holds one kind and one version of its arguments`() {
        let queue = queue(batch: 10)
        _ = queue.add(jobs(1...2))
        _ = queue.add(jobs(3...4, Note.kind))
        _ = queue.add(jobs(5...6))
        _ = queue.add(jobs(7...8, version: 2))
        #expect(
            (0..<5).map { _ in ids(queue.next()) } == [[1, 2], [3], [4], [5, 6], [7, 8]])
    }

    @Test func `the batches of another queue's kinds claim nothing ahead here`() {
        #expect(queue(concurrency: 2, otherBatch: 50).wanted() == 2)
    }

    @Test func `one claim never asks for more than its limit beyond the slots`() {
        let queue = queue(concurrency: 4, batch: 100_000)
        #expect(queue.wanted() == 4 + LocalQueue.claimLimit)
    }

    @Test func `a pause hands back what has not started and wants no more`() {
        let queue = queue(concurrency: 2, batch: 2)
        _ = queue.add(jobs(1...5))
        #expect(ids(queue.next()) == [1, 2])
        #expect(!queue.isPaused)
        #expect(queue.setPaused(true).map(\.id) == [3, 4, 5])
        #expect(queue.isPaused)
        #expect(queue.wanted() == 0)
        #expect(queue.counts.waiting == 0)
        #expect(queue.counts.busy == 2)
        #expect(queue.next() == nil)
        #expect(!queue.finished(2), "a paused queue asks for nothing when its jobs end")
        #expect(queue.isIdle)
        #expect(queue.setPaused(true).isEmpty)
        #expect(queue.setPaused(false).isEmpty)
        #expect(queue.wanted() > 0)
    }

    @Test func `after a pause runners start again`() {
        let queue = queue(concurrency: 2)
        #expect(queue.add(jobs(1...6)) == 2)
        _ = queue.setPaused(true)
        for _ in 0..<2 { #expect(queue.next() == nil) }
        _ = queue.setPaused(false)
        #expect(queue.add(jobs(7...9)) == 2)
        #expect(ids(queue.next()) == [7])
    }

    @Test func `what waits can be taken back once`() {
        let queue = queue()
        _ = queue.add(jobs(1...4))
        _ = queue.next()
        #expect(queue.takeWaiting().map(\.id) == [2, 3, 4])
        #expect(queue.takeWaiting().isEmpty)
        #expect(queue.next() == nil)
        #expect(!queue.isIdle)
        _ = queue.finished(1)
        #expect(queue.isIdle)
    }

    @Test func `the poke is asked for only while nothing is wanted, and given once`() {
        let queue = queue(concurrency: 1)
        #expect(!queue.pokeWhenWanted())
        #expect(!queue.takePoke())
        _ = queue.add(jobs(1...1))
        _ = queue.next()
        #expect(queue.pokeWhenWanted())
        #expect(queue.takePoke())
        #expect(!queue.takePoke())
        _ = queue.setPaused(true)
        #expect(queue.pokeWhenWanted(), "a paused queue wants nothing")
    }

    @Test func `failures are counted for the heartbeat`() {
        let queue = queue()
        _ = queue.add(jobs(1...2))
        _ = queue.next()
        queue.countFailure()
        _ = queue.finished(1)
        let counts = queue.counts
        #expect(counts == (busy: 0, waiting: 1, finished: 1, failed: 1))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `whatever happens, each job comes out once and the counts agree`(_ seed: UInt64) {
        var random = JSONMutations(seed: seed)
        let queue = queue(concurrency: 3, batch: 4)
        var given: Int64 = 0
        var out: [Int64] = []
        var running: [Int] = []
        var runners = 0
        for step in 0..<3_000 {
            switch random.random(below: 8) {
            case 0, 1:
                let count = Int64(1 + random.random(below: 6))
                let kind = random.random(below: 2) == 0 ? Plain.kind : Note.kind
                runners += queue.add(jobs(given + 1...given + count, kind))
                given += count
            case 2...4 where running.count < runners:
                if let unit = queue.next() {
                    out += unit.map(\.id)
                    running.append(unit.count)
                } else {
                    runners -= 1
                }
            case 5, 6: if let count = running.popLast() { _ = queue.finished(count) }
            case 7: out += queue.setPaused(random.random(below: 2) == 0).map(\.id)
            default: break
            }
            let counts = queue.counts
            #expect(runners <= 3, "seed \(seed), step \(step)")
            #expect(counts.busy == running.reduce(0, +), "seed \(seed), step \(step)")
            #expect(counts.waiting == Int(given) - out.count, "seed \(seed), step \(step)")
        }
        out += queue.takeWaiting().map(\.id)
        #expect(out == Array(1...given), "they come out in their order")
    }
}
