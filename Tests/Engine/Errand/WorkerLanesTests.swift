import Testing

@testable import Errand

@Suite("A worker's lanes") struct WorkerLanesTests {
    private func lanes(_ queues: [WorkerOptions.Queue]) -> WorkerLanes {
        var kinds = JobKinds()
        kinds.handle(Note.self) { _, _ in }
        kinds.handle(Plain.self) { _, _ in }
        return WorkerLanes(queues, kinds: kinds)
    }

    private func lane(_ queue: String, _ kind: String = Plain.kind, version: Int = 1) -> Lane {
        Lane(queue: queue, kind: kind, version: version)
    }

    private func open(_ lanes: WorkerLanes) -> [String: Set<Lane>] {
        Dictionary(uniqueKeysWithValues: lanes.open.map { ($0.queue.options.name, Set($0.lanes)) })
    }

    @Test func `only lanes in use are open, and only those that it can run`() {
        let lanes = lanes([.init("default"), .init("mail")])
        #expect(lanes.open.isEmpty)
        lanes.use([
            lane("mail"), lane("mail", Note.kind), lane("mail", "test.unknown"),
            lane("mail", version: 9), lane("other"),
        ])
        #expect(open(lanes) == ["mail": [lane("mail"), lane("mail", Note.kind)]])
        lanes.replace(with: [lane("default"), lane("other")])
        #expect(open(lanes) == ["default": [lane("default")]])
        #expect(lanes.queues.map(\.options.name) == ["default", "mail"])
    }

    @Test func `a queue of a pattern exists from its first lane on`() {
        let lanes = lanes([
            .init("tenant-*", concurrency: 4, weight: 2), .init("tenant-7", concurrency: 9),
        ])
        #expect(lanes.queues.map(\.options.name) == ["tenant-7"])
        lanes.use([lane("tenant-7"), lane("tenant-8"), lane("mail")])
        #expect(lanes.queues.map(\.options.name) == ["tenant-7", "tenant-8"])
        #expect(
            lanes.queue(named: "tenant-8")?.options
                == WorkerOptions.Queue("tenant-8", concurrency: 4, weight: 2))
        #expect(lanes.queue(named: "tenant-7")?.options.concurrency == 9)
    }

    @Test func `a new queue of a pattern is paused and limited like the others`() {
        let lanes = lanes([.init("tenant-*", concurrency: 4)])
        _ = lanes.pause(["tenant-1"], isQuiet: false)
        lanes.limit(["tenant-2": KnownLimit(running: 2, rate: nil)])
        lanes.use((1...3).map { lane("tenant-\($0)") })
        #expect(lanes.queues.map { $0.wanted() } == [0, 2, 4])
        let changes = lanes.pause([], isQuiet: true)
        #expect(Set(changes.map(\.queue.options.name)) == ["tenant-2", "tenant-3"])
        lanes.use([lane("tenant-4")])
        #expect(lanes.queue(named: "tenant-4")?.isPaused == true)
    }
}
