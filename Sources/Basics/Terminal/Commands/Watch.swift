import FoundationEssentials

/// Repeats a read-only command.
///
/// On a terminal each result replaces the previous one: it is drawn from the top in one write,
/// so that the screen does not flicker. Elsewhere results follow each other.
struct Watch {
    let invocation: Invocation
    let program: Program
    let pause: Double

    private static let begin = "\u{1B}[?25l\u{1B}[?7l\u{1B}[H\u{1B}[2J"
    private static let end = "\u{1B}[?7h\u{1B}[?25h"

    func run() async throws -> ExitCode {
        let screen = invocation.output.screen
        let isDrawn = screen.outputIsTerminal && invocation.output.isForPeople
        if isDrawn {
            screen.onRestore { try? screen.write((Self.end + "\n").utf8) }
            try screen.write(Self.begin.utf8)
        }
        defer { screen.restore() }
        var isFirst = true
        while !Task.isCancelled {
            if isDrawn {
                screen.beginFrame()
                let result = await look()
                let frame = screen.endFrame()
                if Task.isCancelled { break }
                try check(result)
                try screen.write(drawn(frame).utf8)
            } else {
                if !isFirst, invocation.output.isForPeople { try invocation.output.line() }
                try check(await look())
                try screen.flush()
            }
            isFirst = false
            invocation.interruption.forget()
            try? await Task.sleep(for: .seconds(pause))
        }
        return .done
    }

    private func look() async -> Result<ExitCode, any Error> {
        do {
            return .success(try await invocation.command.run(invocation))
        } catch {
            guard !Task.isCancelled, let failure = program.failure(of: error) else {
                return .failure(error)
            }
            // An unreachable server may come back: --watch continues.
            guard failure.exit == .unreachable || failure.exit == .timedOut else {
                return .failure(error)
            }
            invocation.output.printFailure(failure, program: program.name)
            return .success(failure.exit)
        }
    }

    private func check(_ result: Result<ExitCode, any Error>) throws {
        if Task.isCancelled { return }
        _ = try result.get()
    }

    /// The frame below a header line with the time, truncated to the height of the terminal.
    ///
    /// Each line erases the rest of the previous one.
    private func drawn(_ frame: String) -> String {
        let screen = invocation.output.screen
        let time = invocation.output.times.text(Date())
        let words = ([program.name] + invocation.command.path).joined(separator: " ")
        let rhythm = "every \(HumanFormat.duration(.seconds(pause)))"
        var lines = ["\(time)  \(words)  \(rhythm), Ctrl-C to stop", ""]
        lines[0] = invocation.output.paint(
            DisplayWidth.truncated(lines[0], to: screen.width), .dim)
        lines += frame.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        if lines.count > screen.size.rows {
            let hidden = lines.count - screen.size.rows + 1
            lines = lines.dropLast(hidden) + ["… \(hidden) more lines"]
        }
        return "\u{1B}[H" + lines.joined(separator: "\u{1B}[K\n") + "\u{1B}[K\u{1B}[J"
    }
}
