import ErrandAdministration
import FoundationEssentials
import Errand
import ErrandPostgres
import ErrandTerminal

/// One queue in `errand top`.
struct TopQueue: Sendable {
    var record: QueueRecord
    /// Finished attempts per second over the last minute, as its live workers report.
    var rate = 0.0
    var slots: Int { record.slots }
    var busy: Int { record.busy }
}

/// The data of a view at one moment.
struct TopData: Sendable {
    var view: TopView
    var at: Instant
    /// How long the servers took to respond.
    var took: Duration
    var queues: [TopQueue]
    var liveWorkers: Int
    var unresponsiveWorkers: Int
    /// The jobs in the view of jobs.
    var jobs: [JobRecord] = []
    /// The range of the search for jobs if it stopped early; nil if it is complete.
    var jobsReach: String?
    /// The job in the view of one job; nil in other views and if the job does not exist.
    var job: JobRecord?
    var history: [JobHistoryEntry] = []
    /// Why the job does not run, with remedies.
    var why: [CauseFormatting.Explained] = []
}

/// Reads the data of the views in a read-only session.
struct TopReader: Sendable {
    let session: Session
    let times: TimeFormat
    /// Parses a filter as a call of `job ls`.
    let listing: @Sendable ([String]) throws -> Invocation

    /// Reads the data of a view, with at most `limit` jobs.
    func read(_ view: TopView, limit: Int) async throws -> TopData {
        let start = ContinuousClock.now
        let inspector = Inspector(session: session)
        let workers = try await inspector.workers()
        let alive = workers.filter(\.isAlive)
        var rates: [String: Double] = [:]
        for worker in alive {
            for (queue, load) in (try? worker.loads()) ?? [:] {
                rates[queue, default: 0] += load.rate ?? 0
            }
        }
        let queues = try await inspector.queues().map { record in
            TopQueue(record: record, rate: rates[record.name] ?? 0)
        }
        var data = TopData(
            view: view, at: Instant.now(), took: .zero, queues: queues, liveWorkers: alive.count,
            unresponsiveWorkers: workers.count - alive.count)
        switch view {
        case .queues: break
        case .jobs(let words): (data.jobs, data.jobsReach) = try await jobs(words, limit, inspector)
        case .job(let id):
            data.job = try await inspector.job(id)
            if let job = data.job { data.history = try await inspector.history(of: job) }
            if let situation = try await inspector.diagnosis(of: id) {
                let words = CauseFormatting(situation, times, try listing([]).modules)
                data.why = situation.causes.map { words.explain($0) }
            }
        }
        data.took = .now - start
        return data
    }

    /// Checks that these words are a filter; throws the errors of `job ls`.
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
        // Never an exhaustive search: the screen must not wait.
        let page = try await inspector.page(filter)
        return (page.jobs, page.stoppedAt.map { _ in JobFilterOptions.reached(page, filter) })
    }
}
