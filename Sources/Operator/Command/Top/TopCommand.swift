import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand top`.
enum TopCommand {
    static let all = [command]

    private static let once = Option.flag("once", help: "Print one picture and end")
    private static let interval = Option.duration(
        "interval", default: .seconds(2), range: .milliseconds(500) ... .seconds(3600),
        help: "Look again after this time; later where a look takes the servers long")

    private static let filters = JobFilterOptions.all + [JobFilterOptions.states]

    /// What is typed after `/` is read as the options of this command are.
    private static let listing = JobCommands.list

    private static let command = Command(
        "top", effect: .waits,
        summary: "Watch queues, jobs and one job, and act on them, in the whole terminal",
        discussion: """
            Small letters look, capital letters change something and ask before; ? lists them. \
            The options of 'errand job ls' begin with the jobs that pass them; / takes them too.

            Looks are read-only, end after five seconds, and come so rarely that they take less \
            than a hundredth of the database's time. NO_COLOR turns colour off.
            """,
        examples: [
            .init("errand top", "the queues; Enter opens one"),
            .init("errand top --state dead --newer 1h", "what died in the last hour"),
            .init("errand top --once", "one picture, for a note or a pipe"),
        ],
        options: [once, interval] + filters
    ) { invocation in
        guard invocation.output.isForPeople else {
            throw CommandFailure(
                exit: .usage, message: "top draws pictures, and has no other output",
                hint: "'errand status --output json' has the numbers")
        }
        let words = invocation.words(of: filters)
        let reader = TopReader(
            session: try invocation.readOnlySession(), times: invocation.output.times
        ) { words in
            try invocation.parsing(words, as: listing)
        }
        if !words.isEmpty { try await reader.check(words) }
        if invocation[once] {
            try await printOnce(reader, words, invocation)
        } else {
            let screen = try FullScreen(invocation.output.screen)
            let loop = TopLoop(
                invocation: invocation, reader: reader, screen: screen,
                interval: invocation[interval])
            var state = TopState(filter: words)
            if let context = invocation.contexts.current, context.isProduction,
                !invocation[GlobalOptions.yes]
            {
                state.mustType = context.name
            }
            try await loop.run(state)
            try Task.checkCancellation()
        }
        return .done
    }

    private static func printOnce(
        _ reader: TopReader, _ words: [String], _ invocation: Invocation
    ) async throws {
        let size = invocation.output.screen.size
        var state = TopState(filter: words)
        let data = try await reader.read(state.view, limit: size.rows)
        state.take(data)
        // No line is chosen: nobody is there to choose.
        state.isStill = true
        let frame = TopFrame(
            state: state, data: data, card: [], trouble: nil, history: TopHistory(data).values,
            size: size,
            paint: invocation.output.paint, times: invocation.output.times, now: data.at)
        var lines = frame.lines().dropLast()
        while lines.last == "" { lines = lines.dropLast() }
        for line in lines { try invocation.output.line(line) }
    }
}
