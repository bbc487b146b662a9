import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal
import ErrandThreads

/// `errand job tail`.
enum JobTailCommand {
    static let all = [command]

    private static let queue = Option<String?>.text(
        "queue", placeholder: "NAME", help: "Only jobs of this queue")
    private static let kind = Option<String?>.text(
        "kind", placeholder: "KIND", help: "Only jobs of this kind")

    private static let pause = Duration.milliseconds(500)

    private static let command = Command(
        "job", "tail", effect: .follow, summary: "Print jobs as they finish, until interrupted",
        discussion: """
            Prints completed, cancelled and dead jobs from now on, except those that are not kept \
            (retention 0). With --output json each is an object on a line, as in 'errand job ls'.
            """,
        examples: [.init("errand job tail --queue mail", "follow the results of queue mail")],
        options: [queue, kind] + RevealOptions.all
    ) { invocation in
        var inspector = Inspector(session: try invocation.session())
        if let name = invocation[queue] { try await QueueCommands.check(name, inspector) }
        var filter = JobFilter()
        filter.queue = invocation[queue]
        filter.kind = invocation[kind]
        inspector = try await RevealOptions.revealing(
            invocation, inspector, subject: "jobs", filter)
        var watch = FinishedJobTail(inspector, queue: invocation[queue], kind: invocation[kind])
        let stop = Stop()
        Termination.onRequest { stop.stop() }
        let output = invocation.output
        _ = try await watch.next()
        output.note("waiting for jobs to finish; press Ctrl-C to stop")
        while !stop.isStopped {
            await stop.sleep(for: pause)
            let jobs = try await watch.next()
            for job in jobs {
                try output.event(JobCommands.record(job), line: line(job, output))
            }
            try output.flush()
        }
        return .done
    }

    private static func line(_ job: JobRecord, _ output: Output) -> String {
        let time = job.finishedAt.map { output.times.text($0.date) } ?? ""
        let state = DisplayWidth.padded(job.state.rawValue, to: 9)
        let took = job.duration.map { HumanFormat.duration($0) }
        let reason = job.reason?.split(whereSeparator: \.isNewline).first
        let text = [
            time, output.paint(state, JobCommands.style(job.state)), String(job.id),
            DisplayWidth.harmless(job.kind), DisplayWidth.harmless(job.queue),
            "attempt \(job.attempt)", took, reason.map { DisplayWidth.harmless(String($0)) },
        ]
        return text.compactMap(\.self).joined(separator: "  ")
    }
}
