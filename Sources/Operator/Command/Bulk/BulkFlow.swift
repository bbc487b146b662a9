import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// A bulk action: counts and shows the jobs, asks for confirmation, records the operation and
/// runs it.
struct BulkFlow {
    let action: BulkOperation.Action
    let invocation: Invocation
    var change = BulkChange()

    init(_ action: BulkOperation.Action, _ invocation: Invocation) {
        self.action = action
        self.invocation = invocation
    }

    private static let samples = 5

    /// Acts on jobs given by id at once, or on jobs selected by filters in bulk.
    func jobs(
        good: Set<Inspector.Effect>,
        _ byID: (Inspector, [Int64]) async throws -> [Int64:
            Inspector.Effect]
    ) async throws -> ExitCode {
        let session = try invocation.session()
        let inspector = Inspector(session: session)
        if let filter = try await BulkOptions.selectedJobs(action, invocation, inspector) {
            return try await run(filter, session)
        }
        let ids = invocation[BulkOptions.ids].map(Int64.init)
        return try JobCommands.report(try await byID(inspector, ids), good: good, invocation)
    }

    /// Acts on the jobs that match a filter.
    func run(
        _ filter: JobFilter, _ session: Session,
        _ work: (BulkRun, Int64) async throws -> ExitCode = { bulk, id in try await bulk.run(id) }
    ) async throws -> ExitCode {
        let (inspector, output) = (Inspector(session: session), invocation.output)
        var filter = filter
        let (count, asOf) = try await inspector.count(
            filter, isExact: invocation[BulkOptions.exact])
        filter.asOf = asOf
        var request = Operations.Request(action: action, filter: filter, count: count)
        request.change = change
        request.reason = invocation[AuditOptions.reason]
        request.ratePerSecond = invocation[BulkOptions.rate]?.perSecond
        request.maxJobs = invocation[BulkOptions.maxJobs]
        try await checkIDs(filter, count)
        let isDry = invocation[BulkOptions.dryRun]
        if output.isForPeople || isDry {
            try output.show(try await preview(request.total, filter, inspector))
        }
        if isDry { return .done }
        guard count.count > 0 else {
            if !output.isForPeople { try output.show(BulkRun.nothing(action)) }
            output.note("nothing to do: no \(action.noun)s match")
            return .done
        }
        try output.flush()
        let screen = output.screen
        let isAsked = screen.inputIsTerminal && screen.errorIsTerminal
        if !output.isForPeople, isAsked, !invocation[GlobalOptions.yes] {
            // Standard output is for the result alone; the preview goes to standard error.
            let sample = RecordCard(
                try await preview(request.total, filter, inspector), times: output.times)
            for line in sample.lines(paint: Paint(isColored: false)) { output.note(line) }
        }
        try output.confirm(
            action.question(request.total, change, filter), yes: invocation[GlobalOptions.yes])
        let operations = Operations(session: session, redis: try? invocation.redisAddress())
        let id = try await operations.begin(request, by: invocation.operatorName)
        return try await work(BulkRun(operations: operations, output: output), id)
    }

    /// Refuses ids of which none is a dead letter.
    private func checkIDs(_ filter: JobFilter, _ count: JobCount) async throws {
        guard let ids = filter.ids, count.count == 0 else { return }
        throw CommandFailure(
            exit: .notFound, message: "none of these \(ids.count) ids is a \(action.noun)",
            hint: "'errand dead ls' lists the dead letters")
    }

    private func preview(
        _ total: JobCount, _ filter: JobFilter, _ inspector: Inspector
    ) async throws -> Record {
        var filter = filter
        filter.limit = Self.samples
        // --max selects the lowest ids.
        filter.isOldestFirst = invocation[BulkOptions.maxJobs] != nil
        let jobs = try await inspector.jobs(filter).map { job in
            var record = Record([
                ("id", .id(Int(job.id))), ("kind", .text(job.kind)), ("queue", .text(job.queue)),
            ])
            if action.noun == "dead letter" {
                record.append("finished_at", .optional(job.finishedAt) { $0.cell })
            } else {
                record.append("state", .marked(job.state.rawValue, JobCommands.style(job.state)))
                record.append("run_at", job.runAt.cell)
                record.append("args", .json(job.args))
            }
            record.append("error", .optional(job.lastError) { .text($0) })
            return record
        }
        return Record([
            ("action", .text(action.rawValue)), ("count", .int(total.count)),
            ("estimated", .flag(total.isEstimate)), ("sample", .records(jobs)),
        ])
    }
}

extension BulkOperation.Action {
    /// The noun for its objects.
    var noun: String { self == .redrive || self == .delete ? "dead letter" : "job" }

    /// The label of its progress bar.
    var participle: String {
        switch self {
        case .redrive: "redriven"
        case .delete: "deleted"
        case .retry: "retried"
        case .cancel: "cancelled"
        case .discard: "discarded"
        case .runNow: "made due"
        case .reschedule: "rescheduled"
        case .move: "moved"
        case .edit: "edited"
        case .purge: "purged"
        }
    }

    /// The question that asks for confirmation.
    func question(_ total: JobCount, _ change: BulkChange, _ filter: JobFilter) -> String {
        let number = (total.isEstimate ? "about " : "") + HumanFormat.count(total.count)
        let jobs = "\(number) \(noun)\(total.count == 1 ? "" : "s")"
        switch self {
        case .redrive: return "redrive \(jobs)?"
        case .retry: return "retry \(jobs)?"
        case .delete: return "delete \(jobs) permanently?"
        case .cancel: return "cancel \(jobs)?"
        case .discard: return "discard \(jobs)?"
        case .runNow: return "run \(jobs) now?"
        case .reschedule:
            let time = change.runAt.map { " to \(HumanFormat.time($0.date))" } ?? ""
            return "reschedule \(jobs)\(time)?"
        case .move: return "move \(jobs) to queue \(change.queue ?? "")?"
        case .edit: return "edit \(jobs)?"
        case .purge:
            return "cancel all \(number) waiting jobs of queue \(filter.queue ?? "")?"
        }
    }
}
