import Glibc
import Synchronization

/// The terminal in full-screen mode: frames instead of lines, keys instead of line input.
///
/// Leaving the mode restores the previous content (the "alternate screen" of xterm, which tmux,
/// screen and the consoles support too).
package final class FullScreen: Sendable {
    private struct State {
        /// The terminal's previous settings; nil outside full-screen mode.
        var before: termios?
        /// The lines shown; nil if unknown.
        var shown: [String]?
        var size = TerminalSize(columns: 0, rows: 0)
    }

    private let screen: Screen
    private let state = Mutex(State())

    /// The full-screen mode of a screen whose input and output are a terminal.
    ///
    /// - Throws: `CommandFailure` (usage) if they are not.
    package init(_ screen: Screen) throws(CommandFailure) {
        guard screen.inputIsTerminal, screen.outputIsTerminal else {
            throw .usage(
                "full-screen mode requires a terminal", hint: "--once prints one frame instead")
        }
        self.screen = screen
    }

    deinit { leave() }

    /// Enters full-screen mode: raw mode, alternate screen, no cursor, no line wrapping.
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

    /// Leaves full-screen mode and restores the terminal.
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

    /// Shows the lines from the top, and nothing below them; sends only changed lines.
    ///
    /// The caller truncates the lines to the terminal's width.
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
                // Erased first: erasing after a full line would delete its last column.
                text += "\u{1B}[\(row + 1);1H\u{1B}[K\(line)"
            }
            state.size = size
            state.shown = lines
            guard !text.isEmpty else { return }
            try screen.write(text.utf8)
            try screen.flush()
        }
    }

    /// Suspends the process, as Ctrl-Z does elsewhere, and redraws once it continues.
    package func suspend() throws(OutputError) {
        leave()
        // The whole process group, as the terminal does: a calling script stops too.
        _ = kill(0, SIGTSTP)
        try enter()
    }
}

/// The size of a terminal.
package struct TerminalSize: Equatable, Sendable {
    package var columns: Int
    package var rows: Int

    /// A size in characters.
    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}
