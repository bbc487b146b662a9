import FoundationEssentials
import Errand
import Synchronization

/// What several tasks bring together.
final class Gathered<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    func add(_ element: Element) { list.withLock { $0.append(element) } }

    func take() -> [Element] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

/// An enqueue that came back.
private struct Acknowledged: Sendable {
    var n: Int
    var sent: Int64
    var at: Int64
}

/// When probes are sent: so many a second, whatever becomes of the earlier ones.
struct Plan: Sendable {
    let rate: Int
    let count: Int
    private let record: String?
    /// At a high rate a probe counts from the time it was planned for, so that a sender that
    /// falls behind does not look fast; at a low rate from just before its enqueue, so that the
    /// timer's error is not counted.
    private var countsFromPlan: Bool { rate > 1_000 }

    init(_ flags: Flags) throws {
        rate = try flags.int("rate")
        count = try flags.int("count")
        record = flags.path("record")
    }

    /// Sends each probe in a task of its own and records `n sent acknowledged`.
    func run(_ send: @escaping @Sendable (Int, Int64) async throws -> Void) async throws {
        let acknowledged = Gathered<Acknowledged>()
        let start = monotonicNow()
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await steps(from: start) { n, due in
                group.addTask {
                    let sent = countsFromPlan ? due : monotonicNow()
                    try await send(n, sent)
                    let now = monotonicNow()
                    acknowledged.add(Acknowledged(n: n, sent: sent, at: now))
                }
            }
            try await group.waitForAll()
        }
        let all = acknowledged.take()
        if let record {
            let lines = all.map { "\($0.n) \($0.sent) \($0.at)\n" }
            try lines.joined().write(toFile: record, atomically: true, encoding: .utf8)
        }
        report([
            ("jobs", Double(all.count)), ("seconds", seconds(from: start, to: monotonicNow())),
        ])
    }

    /// Calls `body` for each probe when it is due, or, at high rates, once a millisecond for
    /// those that are.
    func steps(from start: Int64, _ body: (Int, Int64) -> Void) async throws {
        let interval = 1e9 / Double(rate)
        var n = 0
        while n < count {
            // Not in step with anything that happens at regular intervals.
            let jitter = countsFromPlan ? 0 : Double.random(in: 0..<0.5)
            let due = start + Int64((Double(n) + jitter) * interval)
            let wait = due - monotonicNow()
            if wait > 0 {
                try await Task.sleep(for: .nanoseconds(max(wait, countsFromPlan ? 1_000_000 : 0)))
            }
            body(n, due)
            n += 1
        }
    }
}
