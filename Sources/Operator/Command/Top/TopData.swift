import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// One queue in `errand top`.
struct TopQueue: Sendable {
    var record: QueueRecord
    /// Jobs ended a second, over the last minute, as its live workers say.
    var rate = 0.0
    var slots = 0
    var busy = 0
}

/// What a view shows, as read at one moment.
struct TopData: Sendable {
    var view: TopView
    var at: Instant
    /// How long PostgreSQL and Redis took over it.
    var took: Duration
    var queues: [TopQueue]
    var liveWorkers: Int
    var silentWorkers: Int
    /// Of the view of jobs.
    var jobs: [JobRecord] = []
    /// Where the look for them ended early, in words; nil when it did not.
    var jobsReach: String?
    /// Of the view of one job; nil elsewhere, and when there is no such job.
    var job: JobRecord?
    var story: [StoryEntry] = []
    /// Why it does not run, and what mends that.
    var why: [WhyWords.Explained] = []
}

/// Reads what the views show, in a session of its own that can change nothing.
struct TopReader: Sendable {
    let session: Session
    let times: TimeFormat
    /// A call of `job ls`, from which a filter is read.
    let listing: @Sendable ([String]) throws -> Invocation

    private struct Slots: Decodable {
        var concurrency: Int?
        var busy: Int?
        var rate: Double?
    }

    /// The data of a view; jobs are read up to `limit`.
    func read(_ view: TopView, limit: Int) async throws -> TopData {
        let start = ContinuousClock.now
        let inspector = Inspector(session: session)
        let workers = try await inspector.workers()
        let alive = workers.filter(\.isAlive)
        var queues = try await inspector.queues().map { TopQueue(record: $0) }
        for worker in alive {
            let reports = try? JSONDecoder().decode(
                [String: Slots].self, from: Data(worker.queues))
            for place in queues.indices {
                guard let slots = reports?[queues[place].record.name] else { continue }
                queues[place].rate += slots.rate ?? 0
                queues[place].slots += slots.concurrency ?? 0
                queues[place].busy += slots.busy ?? 0
            }
        }
        var data = TopData(
            view: view, at: Instant.now(), took: .zero, queues: queues, liveWorkers: alive.count,
            silentWorkers: workers.count - alive.count)
        switch view {
        case .queues: break
        case .jobs(let words): (data.jobs, data.jobsReach) = try await jobs(words, limit, inspector)
        case .job(let id):
            data.job = try await inspector.job(id)
            if let job = data.job { data.story = try await inspector.story(of: job) }
            if let situation = try await inspector.situation(of: id) {
                let words = WhyWords(situation, times, try listing([]).modules)
                data.why = situation.causes.map { words.explain($0) }
            }
        }
        data.took = .now - start
        return data
    }

    /// Whether these words are a filter; throws as `job ls` would.
    func check(_ words: [String]) async throws {
        _ = try await JobFilterOptions.filter(listing(words), Inspector(session: session))
    }

    private func jobs(
        _ words: [String], _ limit: Int, _ inspector: Inspector
    ) async throws -> ([JobRecord], String?) {
        let invocation = try listing(words)
        var filter = try await JobFilterOptions.filter(invocation, inspector)
        let states = invocation[JobFilterOptions.states]
        filter.states = states.isEmpty ? nil : states
        JobFilterOptions.turn(to: &filter, invocation)
        filter.limit = min(limit, filter.limit)
        // However much it is asked for: a picture waits for nothing that takes long.
        let page = try await inspector.page(filter)
        return (page.jobs, page.stoppedAt.map { _ in JobFilterOptions.reached(page, filter) })
    }
}
