import ErrandPostgres
import Synchronization

/// What one queue of a worker does, gathered minute by minute and kind by kind.
///
/// Jobs only add to numbers in memory; the heartbeat writes them. What a crash takes with it is
/// missed by nobody but those who look at rates.
final class ActivityBook: Sendable {
    /// One row of the table.
    typealias Page = ActivityPage

    private struct Minute: Sendable {
        /// In minutes of PostgreSQL's count.
        var number: Int64
        var pages: [String: Page] = [:]
    }

    /// Minutes that are kept in memory: a row is written whole, so its numbers must be at hand as
    /// long as any may be added, and for as long as the database may be away.
    private static let keptMinutes = 10

    private struct State {
        var minutes: [Minute] = []
        /// What the minutes held that are kept no more.
        var past: [String: Page] = [:]
    }

    private let queue: String
    private let state = Mutex(State())

    init(queue: String) { self.queue = queue }

    /// Jobs of one kind have started at this moment.
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

    /// Jobs of one kind have ended; the first so many of them had never been started.
    func ended(_ endings: [Ending], at now: Instant, neverRan: Int = 0) {
        guard let kind = endings.first?.lane.kind else { return }
        change(kind, at: now) { page in
            for (place, ending) in endings.enumerated() {
                page.count(ending.verdict)
                guard place >= neverRan else { continue }
                page.addRun(milliseconds: Double(ending.duration))
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
            body(&state.minutes[place].pages[kind, default: Page()])
            state.minutes[place].pages[kind]?.isWritten = false
        }
    }

    /// Once a minute, and when a clock was put back.
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

    /// What was done since the process began, by kind.
    func totals() -> [String: Page] {
        state.withLock { state in
            var totals = state.past
            for minute in state.minutes {
                for (kind, page) in minute.pages { totals[kind, default: Page()].merge(page) }
            }
            return totals
        }
    }

    /// A page with what names its row.
    struct Entry: Sendable {
        var minute: Instant
        var queue: String
        var kind: String
        var page: Page
    }

    /// What has changed since it was last written; taken as written now.
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

    /// What was taken could not be written.
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

/// Writes what the queues of a worker did.
struct ActivityWriter: Sendable {
    /// The rows are this worker's for as long as it runs, also when it has to sign on anew: each
    /// write replaces the row's numbers, so that one that is made twice does no harm.
    let worker: Int64
    let queues: [LocalQueue]
    let log: Log
    private let complaint = Complaint()

    init(worker: Int64, queues: [LocalQueue], log: Log) {
        self.worker = worker
        self.queues = queues
        self.log = log
    }

    /// Writes what has changed; what cannot be written now is kept for a while.
    func write(on session: Session) async {
        let entries = queues.flatMap { $0.activity.takeChanged() }
        guard !entries.isEmpty else { return }
        do {
            _ = try await session.pipeline([
                Statement(Statements.hurry),
                Statement(Statements.writeActivity, parameters(entries)),
            ])
            complaint.resolved(log, "what was done each minute is written again")
        } catch {
            for queue in queues { queue.activity.putBack(entries) }
            complaint.warn(log, "what was done each minute could not be written: \(error)")
        }
    }

    private func parameters(_ entries: [ActivityBook.Entry]) -> [Parameter] {
        func numbers(_ path: (ActivityBook.Page) -> Int) -> Parameter {
            .int32Array(entries.map { Int32(clamping: path($0.page)) })
        }
        // Arrays of arrays would have to be of one length: each goes as PostgreSQL's own text.
        func lists(_ path: (ActivityBook.Page) -> [Int]) -> Parameter {
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
