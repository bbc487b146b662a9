import ErrandPostgres
import Synchronization

/// The activity of one queue of a worker, counted by minute and by kind.
///
/// Jobs increment counters in memory, and the heartbeat writes them. A crash loses the counts since
/// the last heartbeat, which affects only rates.
final class ActivityCounters: Sendable {
    /// A row of the table.
    typealias Page = ActivityMinute

    private struct Minute: Sendable {
        /// The number of the minute since PostgreSQL's epoch.
        var number: Int64
        var pages: [String: Page] = [:]
    }

    /// The minutes kept in memory.
    ///
    /// Rows are written whole, so a minute is kept while counts can be added and while the database
    /// may be unavailable.
    private static let keptMinutes = 10

    private struct State {
        var minutes: [Minute] = []
        /// The totals of the minutes that are no longer kept.
        var past: [String: Page] = [:]
    }

    private let queue: String
    private let state = Mutex(State())

    init(queue: String) { self.queue = queue }

    /// Counts the start of jobs of one kind.
    func started(_ jobs: [ClaimedJob], at now: Instant) {
        guard let kind = jobs.first?.lane.kind else { return }
        change(kind, at: now) { page in
            for job in jobs {
                if job.attempt == 1 { page.started += 1 }
                page.addWait(
                    milliseconds: Double(now.microseconds &- job.runAt.microseconds) / 1_000)
            }
        }
    }

    /// Counts the results of jobs of one kind.
    ///
    /// The first `neverRan` of them were never started.
    func ended(_ results: [AttemptResult], at now: Instant, neverRan: Int = 0) {
        guard let kind = results.first?.lane.kind else { return }
        change(kind, at: now) { page in
            for (place, result) in results.enumerated() {
                page.count(result.verdict)
                guard place >= neverRan else { continue }
                page.addRun(milliseconds: Double(result.duration))
            }
        }
    }

    private func change(_ kind: String, at now: Instant, _ body: (inout Page) -> Void) {
        let number = now.microseconds / 60_000_000
        state.withLock { state in
            var place = state.minutes.count - 1
            if place < 0 || state.minutes[place].number != number {
                place = Self.place(of: number, in: &state)
            }
            Self.change(&state.minutes[place].pages[kind, default: Page()], body)
        }
    }

    private static func change(_ page: inout Page, _ body: (inout Page) -> Void) {
        body(&page)
        page.isWritten = false
    }

    /// Inserts a new minute, once a minute and after the clock was set back.
    private static func place(of number: Int64, in state: inout State) -> Int {
        if let place = state.minutes.firstIndex(where: { $0.number == number }) { return place }
        if state.minutes.count == keptMinutes {
            for (kind, page) in state.minutes.removeFirst().pages {
                state.past[kind, default: Page()].merge(page)
            }
        }
        state.minutes.append(Minute(number: number))
        return state.minutes.count - 1
    }

    /// Returns the totals since the process started, by kind.
    func totals() -> [String: Page] {
        state.withLock { state in
            var totals = state.past
            for minute in state.minutes {
                for (kind, page) in minute.pages { totals[kind, default: Page()].merge(page) }
            }
            return totals
        }
    }

    /// A row with its key.
    struct Entry: Sendable {
        var minute: Instant
        var queue: String
        var kind: String
        var page: Page
    }

    /// Returns the rows that changed since they were last written, and marks them as written.
    func takeChanged() -> [Entry] {
        state.withLock { state in
            var entries: [Entry] = []
            for place in state.minutes.indices {
                let minute = state.minutes[place]
                for (kind, page) in minute.pages where !page.isWritten {
                    entries.append(
                        Entry(
                            minute: Instant(microseconds: minute.number * 60_000_000),
                            queue: queue, kind: kind, page: page))
                    state.minutes[place].pages[kind]?.isWritten = true
                }
            }
            return entries
        }
    }

    /// Whether all rows are written.
    var isWritten: Bool {
        state.withLock { $0.minutes.allSatisfy { $0.pages.values.allSatisfy(\.isWritten) } }
    }

    /// Marks rows as not written, after a failed write.
    func putBack(_ entries: [Entry]) {
        state.withLock { state in
            for entry in entries where entry.queue == queue {
                let number = entry.minute.microseconds / 60_000_000
                guard let place = state.minutes.firstIndex(where: { $0.number == number }) else {
                    continue
                }
                state.minutes[place].pages[entry.kind]?.isWritten = false
            }
        }
    }
}

/// Writes the activity of a worker's queues.
struct ActivityWriter: Sendable {
    /// The worker that owns the rows, even if it has to register again later.
    ///
    /// Each write replaces a row's numbers, so a repeated write is harmless.
    let worker: Int64
    let lanes: WorkerLanes
    let log: Log
    private let throttle = LogThrottle()

    init(worker: Int64, lanes: WorkerLanes, log: Log) {
        self.worker = worker
        self.lanes = lanes
        self.log = log
    }

    /// Writes the changed rows.
    ///
    /// After a failure they are kept for a while and written later.
    func write(on session: Session) async {
        let entries = lanes.queues.flatMap { $0.activity.takeChanged() }
        guard !entries.isEmpty else { return }
        do {
            _ = try await session.pipeline([
                Statement(Statements.hurry),
                Statement(Statements.writeActivity, parameters(entries)),
            ])
            throttle.resolved(log, "the activity counters are written again")
        } catch {
            for queue in lanes.queues { queue.activity.putBack(entries) }
            throttle.warn(log, "the activity counters could not be written: \(error)")
        }
    }

    private func parameters(_ entries: [ActivityCounters.Entry]) -> [Parameter] {
        func numbers(_ path: (ActivityCounters.Page) -> Int) -> Parameter {
            .int32Array(entries.map { Int32(clamping: path($0.page)) })
        }
        // PostgreSQL's nested arrays must have one length, so each array is sent as text.
        func lists(_ path: (ActivityCounters.Page) -> [Int]) -> Parameter {
            .textArray(
                entries.map { entry in
                    "{" + path(entry.page).map(String.init).joined(separator: ",") + "}"
                })
        }
        return [
            .int64(worker), .timestampArray(entries.map(\.minute)),
            .textArray(entries.map(\.queue)), .textArray(entries.map(\.kind)),
            numbers(\.started), numbers(\.completed), numbers(\.retried), numbers(\.dead),
            numbers(\.cancelled), numbers(\.snoozed),
            lists(\.waits.stored.buckets), lists(\.waits.stored.counts),
            lists(\.runs.stored.buckets), lists(\.runs.stored.counts),
        ]
    }
}
