import ErrandAdministration
import Errand
import ErrandPostgres
import ErrandTerminal

/// `errand top`.
enum TopCommand {
    static let all = [command]

    private static let once = Option.flag("once", help: "Print one screen and exit")
    private static let interval = Option.duration(
        "interval", default: .seconds(2), range: .milliseconds(500) ... .seconds(3600),
        help: "Refresh at this interval; more slowly if the servers respond slowly")

    private static let filters = JobFilterOptions.all + [JobFilterOptions.states]

    /// The command whose options parse the text typed after `/`.
    private static let listing = JobCommands.list

    private static let command = Command(
        "top", effect: .follow,
        summary: "Monitor and control queues and jobs in a full-screen view",
        discussion: """
            Lowercase keys only read; uppercase keys make changes, after confirmation. ? lists \
            the keys. With filters of 'errand job ls', top starts with the matching jobs; / \
            accepts the same filters.

            Queries are read-only, time out after five seconds, and use at most a hundredth of the \
            database's time. NO_COLOR disables colors.
            """,
        examples: [
            .init("errand top", "the queues; Enter opens one"),
            .init("errand top --state dead --newer 1h", "the dead letters of the last hour"),
            .init("errand top --once", "one screen, for a note or a pipe"),
        ],
        options: [once, interval] + filters
    ) { invocation in
        guard invocation.output.isForPeople else {
            throw CommandFailure(
                exit: .usage, message: "top supports only its full-screen output",
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
        // No line is selected: the output is not interactive.
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
