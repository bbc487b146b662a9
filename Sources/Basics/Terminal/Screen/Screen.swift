import Glibc
import Synchronization

/// An error of writing results.
package enum OutputError: Error, Equatable {
    /// The reader closed the pipe, as `head` does; the program ends without a message.
    case closed
    /// The system's error number, for example of a full disk.
    case failed(code: Int32)

    package var failure: CommandFailure? {
        switch self {
        case .closed: nil
        case .failed(let code):
            CommandFailure(
                exit: .failed, message: "cannot write the output: \(systemError(code))")
        }
    }
}

func systemError(_ code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}

/// Standard output (buffered), standard error and standard input of the process.
package final class Screen: Sendable {
    private struct State {
        var pending: [UInt8] = []
        /// Whether the last line of standard error is incomplete, as a progress bar leaves it.
        var hasOpenLine = false
        /// The bytes printed since a frame began; nil outside of one.
        var frame: [UInt8]?
        /// Restores the terminal; nil while its settings are unchanged.
        var restore: (@Sendable () -> Void)?
    }

    private static let bufferLimit = 64 * 1024

    private let output: Int32
    private let error: Int32
    let input: Int32
    private let columnsFromEnvironment: Int?
    private let rowsFromEnvironment: Int?
    private let state = Mutex(State())

    package let outputIsTerminal: Bool
    package let errorIsTerminal: Bool
    package let inputIsTerminal: Bool

    /// A screen on these file descriptors, which the caller owns.
    package init(output: Int32, error: Int32, input: Int32, environment: [String: String]) {
        self.output = output
        self.error = error
        self.input = input
        outputIsTerminal = isatty(output) == 1
        errorIsTerminal = isatty(error) == 1
        inputIsTerminal = isatty(input) == 1
        func length(_ name: String) -> Int? {
            environment[name].flatMap(Int.init).flatMap { (10...10_000).contains($0) ? $0 : nil }
        }
        columnsFromEnvironment = length("COLUMNS").flatMap { $0 < 20 ? nil : $0 }
        rowsFromEnvironment = length("LINES")
    }

    /// The process's own standard streams.
    ///
    /// From then on the process ignores SIGPIPE: a closed pipe becomes an error of `write`, and a
    /// closed socket does not end a worker.
    package static func standard(environment: [String: String]) -> Screen {
        _ = signal(SIGPIPE, SIG_IGN)
        return Screen(
            output: STDOUT_FILENO, error: STDERR_FILENO, input: STDIN_FILENO,
            environment: environment)
    }

    /// The terminal's columns: `COLUMNS` if set, else the terminal's own size, else 80.
    package var width: Int { columnsFromEnvironment ?? windowSize?.columns ?? 80 }

    /// The terminal's size: its own; else `COLUMNS` and `LINES`; else 80 × 24.
    package var size: TerminalSize {
        windowSize
            ?? TerminalSize(
                columns: columnsFromEnvironment ?? 80, rows: rowsFromEnvironment ?? 24)
    }

    private var windowSize: TerminalSize? {
        for descriptor in [output, error] {
            var size = winsize()
            let code = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size)
            if code == 0, size.ws_col > 0, size.ws_row > 0 {
                return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
            }
        }
        return nil
    }

    /// Writes bytes to standard output: buffered, or immediately on a terminal.
    package func write(_ bytes: some Sequence<UInt8>) throws(OutputError) {
        try state.withLock { state throws(OutputError) in
            if state.frame != nil {
                state.frame?.append(contentsOf: bytes)
                return
            }
            state.pending += bytes
            guard outputIsTerminal || state.pending.count >= Self.bufferLimit else { return }
            try send(&state)
        }
    }

    /// Flushes standard output.
    package func flush() throws(OutputError) {
        try state.withLock { state throws(OutputError) in try send(&state) }
    }

    /// Runs under the lock, even if the pipe is slow: lines of two writers must not mix.
    private func send(_ state: inout State) throws(OutputError) {
        defer { state.pending.removeAll(keepingCapacity: true) }
        try Self.send(state.pending, to: output)
    }

    /// Writes a line on standard error, in place of an unfinished progress line.
    ///
    /// Flushes standard output first, so that a terminal shows both in order.
    package func writeError(line: String) {
        if errorIsTerminal, appendsToFrame(line) { return }
        try? flush()
        let hadOpenLine = state.withLock { state in
            defer { state.hasOpenLine = false }
            return state.hasOpenLine
        }
        let start = hadOpenLine ? Self.clearLine : ""
        try? Self.send(Array((start + line + "\n").utf8), to: error)
    }

    private func appendsToFrame(_ line: String) -> Bool {
        state.withLock { state in
            guard state.frame != nil else { return false }
            state.frame?.append(contentsOf: (line + "\n").utf8)
            return true
        }
    }

    /// Captures all output until ``endFrame()``.
    func beginFrame() { state.withLock { $0.frame = [] } }

    /// The output since ``beginFrame()``, including errors that a terminal would show.
    func endFrame() -> String {
        state.withLock { state in
            defer { state.frame = nil }
            return String(decoding: state.frame ?? [], as: UTF8.self)
        }
    }

    /// Sets the action that restores the terminal if the command ends unexpectedly.
    func onRestore(_ action: (@Sendable () -> Void)?) { state.withLock { $0.restore = action } }

    /// Restores the terminal and ends the frame, even if the command that drew on it still runs.
    func restore() {
        let action = state.withLock { state in
            defer { (state.frame, state.restore) = (nil, nil) }
            return state.restore
        }
        action?()
    }

    /// Replaces the last line of a terminal's standard error, without a line break.
    package func replaceErrorLine(with text: String) {
        state.withLock { $0.hasOpenLine = true }
        try? Self.send(Array((Self.clearLine + text).utf8), to: error)
    }

    private static let clearLine = "\r\u{1B}[K"

    /// Asks on standard error and reads one line, at most 1 KiB, from standard input.
    ///
    /// Blocks its thread until the answer: the command has nothing else to do meanwhile.
    /// - Returns: the answer without its line break; nil at the end of the input.
    func ask(_ question: String) -> String? {
        writeErrorText(question)
        var answer: [UInt8] = []
        while answer.count < 1024 {
            var byte: UInt8 = 0
            let count = unsafe read(input, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else {
                return answer.isEmpty ? nil : String(decoding: answer, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\n") { break }
            answer.append(byte)
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private func writeErrorText(_ text: String) {
        try? flush()
        try? Self.send(Array(text.utf8), to: error)
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
        var sent = 0
        while sent < bytes.count {
            let (count, code) = write(bytes[sent...], to: descriptor)
            if count >= 0 {
                sent += count
                continue
            }
            switch code {
            case EINTR: continue
            case EAGAIN:
                // Another process made the shared terminal non-blocking; wait until it is writable.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&ready, 1, -1)
            case EPIPE: throw .closed
            default: throw .failed(code: code)
            }
        }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to descriptor: Int32
    ) -> (count: Int, code: Int32) {
        unsafe bytes.withUnsafeBytes { buffer in
            let count = unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            return (count, errno)
        }
    }
}
