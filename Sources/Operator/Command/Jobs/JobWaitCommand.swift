import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand job wait`.
enum JobWaitCommand {
    static let all = [command]

    private static let ids = Argument.several(
        ValueFormat.integer("ID", in: 1...Int.max), help: "The jobs' ids")
    private static let timeout = Option<Duration?>.duration(
        "timeout", range: .zero ... .seconds(36_500 * 86_400),
        help: "Wait at most this long (default: no limit)")

    /// Pauses between checks: short at first, then up to a second.
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    private static let command = Command(
        "job", "wait", effect: .follow, summary: "Wait until jobs have finished",
        discussion: """
            Exits 0 if all jobs completed, 1 if one is dead or was cancelled, and 8 if the timeout \
            expired first. A job that is not kept (retention 0) counts as completed once it is \
            deleted.
            """,
        examples: [.init("errand job wait 4711 --timeout 5m && echo done", "in a script")],
        options: [timeout], arguments: [ids]
    ) { invocation in
        let inspector = Inspector(session: try invocation.session())
        let ids = Array(Set(invocation[ids].map(Int64.init))).sorted()
        let deadline = invocation[timeout].map { ContinuousClock.now + $0 }
        var states = try await inspector.states(ids)
        if let missing = ids.first(where: { states[$0] == nil }) {
            throw JobCommands.unknown(missing)
        }
        var pause = Self.firstPause
        while states.values.contains(where: { !isEnded($0) }) {
            let rest = deadline.map { $0 - .now } ?? pause
            guard rest > .zero else { break }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, Self.longestPause)
            let open = ids.filter { id in states[id].map { !isEnded($0) } ?? false }
            let found = try await inspector.states(open)
            // A missing job has completed: dead letters are always kept.
            for id in open { states[id] = found[id] ?? .completed }
        }
        return try report(ids.map { ($0, states[$0] ?? .completed) }, invocation)
    }

    private static func isEnded(_ state: JobState) -> Bool {
        [.completed, .cancelled, .dead].contains(state)
    }

    private static func report(
        _ jobs: [(id: Int64, state: JobState)], _ invocation: Invocation
    ) throws -> ExitCode {
        try invocation.output.list(
            jobs.map { id, state in
                Record([
                    ("id", .id(Int(id))),
                    ("state", .marked(state.rawValue, JobCommands.style(state))),
                ])
            })
        let open = jobs.filter { !isEnded($0.state) }
        if let first = open.first {
            throw CommandFailure(
                exit: .timedOut,
                message: open.count == 1
                    ? "timed out: job \(first.id) has not finished"
                    : "timed out: \(open.count) of \(jobs.count) jobs have not finished",
                hint: "'errand job why \(first.id)' shows the cause")
        }
        let bad = jobs.filter { $0.state != .completed }
        guard let first = bad.first else { return .done }
        throw CommandFailure(
            exit: .failed,
            message: bad.count == 1
                ? "job \(first.id) " + (first.state == .dead ? "is dead" : "was cancelled")
                : "\(bad.count) of \(jobs.count) jobs are dead or were cancelled",
            hint: "'errand job show \(first.id)' shows why")
    }
}
