import Synchronization

/// The progress of an operation at one moment.
package struct Progress: Equatable, Sendable {
    /// The label, such as `enqueued`.
    package var label: String
    package var done: Int
    /// The total; nil if it is unknown, as when reading from a pipe.
    package var total: Int?
    package var elapsed: Duration

    /// The progress at one moment.
    package init(label: String, done: Int, total: Int?, elapsed: Duration) {
        self.label = label
        self.done = done
        self.total = total
        self.elapsed = elapsed
    }

    /// The average rate since the start; zero before any time has passed.
    package var perSecond: Double {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 ? Double(done) / seconds : 0
    }

    /// `enqueued 45,000 of 100,000 (45 %)  12,345/s  4.5 s left`, with a bar if there is room.
    package func line(width: Int?) -> String {
        var parts: [String] = []
        if let total {
            // Rounded down, so that 100 % means complete.
            let percent = total > 0 ? Int(Double(done) * 100 / Double(total)) : 100
            parts.append(
                "\(label) \(HumanFormat.count(done)) of \(HumanFormat.count(total)) (\(percent) %)")
        } else {
            parts.append("\(label) \(HumanFormat.count(done))")
        }
        parts.append(HumanFormat.rate(perSecond))
        if let total, total > done {
            let left = Double(total - done) / perSecond
            // No estimate beyond a year, or without a rate.
            if left < 365 * 86400 { parts.append(HumanFormat.duration(.seconds(left)) + " left") }
        } else {
            parts.append(HumanFormat.duration(elapsed))
        }
        let text = parts.joined(separator: "  ")
        guard let width else { return text }
        guard let total, let bar = bar(done: done, of: total, within: width - text.count - 2) else {
            return DisplayWidth.truncated(text, to: width - 1)
        }
        return bar + "  " + text
    }

    private func bar(done: Int, of total: Int, within room: Int) -> String? {
        // Two brackets, one free column (a full line would wrap), at least ten cells.
        let cells = min(40, room - 3)
        guard cells >= 10 else { return nil }
        let share = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1
        let full = Int(share * Double(cells))
        let head = full < cells ? ">" : ""
        let empty = cells - full - head.count
        return "[" + String(repeating: "=", count: full) + head
            + String(repeating: " ", count: empty) + "]"
    }
}

/// Shows progress on standard error: one changing line on a terminal, periodic lines elsewhere.
package final class ProgressBar: Sendable {
    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isFinished = false
    }

    private let output: Output
    private let label: String
    private let total: Int?
    private let start: ContinuousClock.Instant
    private let pause: Duration
    private let state = Mutex(State())

    /// A bar for an operation that starts now; `total` is nil if unknown.
    package init(_ label: String, total: Int?, output: Output, now: ContinuousClock.Instant) {
        self.output = output
        self.label = label
        self.total = total
        start = now
        pause = output.screen.errorIsTerminal ? .milliseconds(100) : .seconds(5)
    }

    /// Updates the bar; cheap to call often.
    package func update(done: Int, now: ContinuousClock.Instant) {
        guard !output.isQuiet else { return }
        let isDue = state.withLock { state in
            // Without a terminal the first line comes after a pause too: short work needs none.
            let last = state.lastShown ?? (output.screen.errorIsTerminal ? nil : start)
            if state.isFinished { return false }
            if let last, last.duration(to: now) < pause { return false }
            state.lastShown = now
            return true
        }
        guard isDue else { return }
        let progress = progress(done: done, now: now)
        if output.screen.errorIsTerminal {
            output.screen.replaceErrorLine(with: progress.line(width: output.screen.width))
        } else {
            output.screen.writeError(line: progress.line(width: nil))
        }
    }

    /// Prints the final line.
    package func finish(done: Int, now: ContinuousClock.Instant) {
        let isFirst = state.withLock { state in
            defer { state.isFinished = true }
            return !state.isFinished
        }
        guard isFirst, !output.isQuiet else { return }
        let width = output.screen.errorIsTerminal ? output.screen.width : nil
        output.screen.writeError(line: progress(done: done, now: now).line(width: width))
    }

    private func progress(done: Int, now: ContinuousClock.Instant) -> Progress {
        Progress(label: label, done: done, total: total, elapsed: start.duration(to: now))
    }
}
