import Foundation
import ErrandTerminal
import Testing

@Suite("Screen") struct ScreenTests {
    private static let environment = ["REDIS_URL": "r", "DATABASE_URL": "db"]

    @Test func `on a terminal a table fits the width and its header is bold`() throws {
        let terminal = try PseudoTerminal(columns: 60)
        let screen = terminal.screen()
        #expect(screen.width == 60)
        #expect(screen.outputIsTerminal)
        try Output(screen: screen, form: .init(.table)).list(TableTests.records)
        let lines = try terminal.read().split(separator: "\n")
        #expect(lines[0].hasPrefix("\u{1B}[1m     ID"))
        #expect(DisplayWidth.of(String(lines[1])) == 60)
    }

    @Test(
        "colour follows the option, then NO_COLOR, then the kind of terminal",
        arguments: [
            (.auto, [:], true), (.auto, ["NO_COLOR": "1"], false), (.auto, ["NO_COLOR": ""], true),
            (.auto, ["TERM": "dumb"], false), (.always, ["NO_COLOR": "1"], true),
            (.never, [:], false),
        ] as [(ColorChoice, [String: String], Bool)])
    func color(choice: ColorChoice, environment: [String: String], expected: Bool) throws {
        let terminal = try PseudoTerminal(columns: 80)
        var form = Output.Form(.table)
        form.color = choice
        let output = Output(screen: terminal.screen(), form: form, environment: environment)
        #expect(output.paint.isColored == expected)
    }

    @Test(
        "COLUMNS wins over the terminal's own width, if it makes sense",
        arguments: [("132", 132), ("x", 80), ("0", 80), ("", 80)])
    func columns(text: String, expected: Int) throws {
        let terminal = try PseudoTerminal(columns: 80)
        #expect(terminal.screen(environment: ["COLUMNS": text]).width == expected)
    }

    @Test(
        "a question goes ahead on yes only",
        arguments: [
            ("y\n", .done), ("YES\n", .done), ("n\n", .refused), ("\n", .refused),
            ("yellow\n", .refused), ("\u{4}", .refused),
        ] as [(String, ExitCode)])
    func question(answer: String, expected: ExitCode) async throws {
        let terminal = try PseudoTerminal(columns: 80)
        try terminal.person.write(contentsOf: Data(answer.utf8))
        let exit = await Sample.program.run(
            ["job", "move", "--to", "x", "1", "2", "--color=never"], environment: Self.environment,
            screen: terminal.screen())
        #expect(exit == expected)
        let shown = try terminal.read()
        #expect(shown.contains("Move 2 jobs? [y/N] "))
        #expect(shown.contains("moved 2 to x\n") == (expected == .done))
        let refusal = "errand: not confirmed; nothing was changed\n"
        #expect(shown.contains(refusal) == (expected == .refused))
    }

    @Test func `off a terminal a question is refused, and names the option that answers it`()
        async throws
    {
        let printed = try await Printed("job move --to x 1 2")
        #expect(printed.exit == .refused)
        #expect(
            printed.error
                == "errand: not confirmed: Move 2 jobs?\n"
                + "  there is no terminal for the question; pass --yes to confirm\n")
        #expect(printed.output == "")
    }

    @Test func `a progress line is replaced, then gives way to the next message`() throws {
        let terminal = try PseudoTerminal(columns: 80)
        var form = Output.Form(.table)
        form.color = .never
        let output = Output(screen: terminal.screen(), form: form)
        let start = ContinuousClock().now
        let bar = ProgressBar("done", total: nil, output: output, now: start)
        bar.update(done: 10, now: start + .seconds(1))
        bar.update(done: 11, now: start + .milliseconds(1010))
        bar.update(done: 30, now: start + .seconds(2))
        output.note("half way")
        bar.finish(done: 40, now: start + .seconds(4))
        let clear = "\r\u{1B}[K"
        #expect(
            try terminal.read()
                == "\(clear)done 10  10/s  1.0 s\(clear)done 30  15/s  2.0 s\(clear)half way\n"
                + "done 40  10/s  4.0 s\n")
    }

    @Test func `when the reader goes away the program stops at once, in silence`() async throws {
        let output = Pipe()
        let error = Pipe()
        let screen = Self.ignoringBrokenPipes(output: output, error: error)
        try output.fileHandleForReading.close()
        let exit = await Sample.program.run(["flood"], environment: [:], screen: screen)
        // The command itself would have ended with .failed after its million lines.
        #expect(exit == .done)
        try error.fileHandleForWriting.close()
        #expect(try error.fileHandleForReading.readToEnd() ?? Data() == Data())
    }

    @Test func `a full disk is an error with its reason`() async throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let error = Pipe()
        let screen = Screen(
            output: full.fileDescriptor, error: error.fileHandleForWriting.fileDescriptor,
            input: -1, environment: [:])
        let exit = await Sample.program.run(["--version"], environment: [:], screen: screen)
        #expect(exit == .failed)
        try error.fileHandleForWriting.close()
        let message = try error.fileHandleForReading.readToEnd() ?? Data()
        #expect(
            String(decoding: message, as: UTF8.self)
                == "errand: cannot write the output: No space left on device\n")
    }

    @Test func `output beyond the buffer arrives whole and in order`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: path) }
        try Data().write(to: path)
        let file = try FileHandle(forWritingTo: path)
        let screen = Screen(output: file.fileDescriptor, error: -1, input: -1, environment: [:])
        let exit = await Sample.program.run(["flood"], environment: [:], screen: screen)
        #expect(exit == .failed)
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 1_000_000)
        #expect(lines.enumerated().allSatisfy { $0.element == "line \($0.offset)" })
    }

    /// The ordinary streams' own screen is what makes a process ignore SIGPIPE.
    private static func ignoringBrokenPipes(output: Pipe, error: Pipe) -> Screen {
        _ = Screen.standard(environment: [:])
        return Screen(
            output: output.fileHandleForWriting.fileDescriptor,
            error: error.fileHandleForWriting.fileDescriptor, input: -1, environment: [:])
    }
}
