import Glibc
import Synchronization

/// A terminal taken over as a whole: frames instead of lines, keys instead of an edited line.
///
/// What was on the terminal comes back when it is left (the "alternate screen" of xterm, which
/// tmux, screen and the consoles know too).
package final class FullScreen: Sendable {
    private struct State {
        /// How the terminal was before; nil while it is not taken over.
        var before: termios?
        /// The lines that it shows; nil when that is not known.
        var shown: [String]?
        var size = TerminalSize(columns: 0, rows: 0)
    }

    private let screen: Screen
    private let state = Mutex(State())

    /// For a screen whose input and output are a terminal.
    ///
    /// - Throws: `CommandFailure` (usage) when they are not.
    package init(_ screen: Screen) throws(CommandFailure) {
        guard screen.inputIsTerminal, screen.outputIsTerminal else {
            throw .usage(
                "there is no terminal to draw on", hint: "--once prints one frame instead")
        }
        self.screen = screen
    }

    deinit { leave() }

    /// Takes the terminal over: raw mode, alternate screen, no cursor, no wrapped lines.
    package func enter() throws(OutputError) {
        try state.withLock { state throws(OutputError) in
            guard state.before == nil else { return }
            var settings = termios()
            guard unsafe tcgetattr(screen.input, &settings) == 0 else {
                throw .failed(code: errno)
            }
            state.before = settings
            screen.onRestore { [weak self] in self?.leave() }
            unsafe cfmakeraw(&settings)
            _ = unsafe tcsetattr(screen.input, TCSADRAIN, &settings)
            state.shown = nil
            try screen.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J".utf8)
            try screen.flush()
        }
    }

    /// Gives the terminal back as it was.
    package func leave() {
        state.withLock { state in
            guard var before = state.before else { return }
            state.before = nil
            screen.onRestore(nil)
            try? screen.write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)
            try? screen.flush()
            _ = unsafe tcsetattr(screen.input, TCSADRAIN, &before)
        }
    }

    /// Shows the lines from the top on, and nothing below them; only what has changed is sent.
    ///
    /// Lines are as wide as they are: the caller cuts them to the terminal's width.
    package func draw(_ lines: [String]) throws(OutputError) {
        try state.withLock { state throws(OutputError) in
            guard state.before != nil else { return }
            let size = screen.size
            var text = ""
            if size != state.size || state.shown == nil { text = "\u{1B}[2J" }
            let shown = text.isEmpty ? state.shown ?? [] : []
            let lines = Array(lines.prefix(size.rows))
            for row in 0..<max(lines.count, shown.count) {
                let line = row < lines.count ? lines[row] : ""
                guard row >= shown.count || line != shown[row] else { continue }
                // Erased first: behind a last column that is taken, erasing would take it away.
                text += "\u{1B}[\(row + 1);1H\u{1B}[K\(line)"
            }
            state.size = size
            state.shown = lines
            guard !text.isEmpty else { return }
            try screen.write(text.utf8)
            try screen.flush()
        }
    }

    /// Stops the process, as Ctrl-Z does elsewhere, and draws anew once it goes on.
    package func suspend() throws(OutputError) {
        leave()
        // The whole group, as the terminal would: a script around it is to stop too.
        _ = kill(0, SIGTSTP)
        try enter()
    }
}

/// How much a terminal shows.
package struct TerminalSize: Equatable, Sendable {
    package var columns: Int
    package var rows: Int

    /// A size in characters.
    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}
