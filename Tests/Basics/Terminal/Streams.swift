import Foundation
import ErrandTerminal
import Testing

/// File descriptors that tests print to and read back.
enum Streams {
    /// What an action printed on standard output, off a terminal, by lines.
    static func captureOutput(_ action: (Output) throws -> Void) throws -> [String] {
        let pipe = Pipe()
        let screen = Screen(
            output: pipe.fileHandleForWriting.fileDescriptor, error: -1, input: -1,
            environment: [:])
        try action(Output(screen: screen, form: .init(.table)))
        try screen.flush()
        try pipe.fileHandleForWriting.close()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// What an action printed on standard error, off a terminal, by lines.
    static func captureError(
        isQuiet: Bool, _ action: (Output) throws -> Void
    ) throws -> [String] {
        let pipe = Pipe()
        let screen = Screen(
            output: STDOUT_FILENO, error: pipe.fileHandleForWriting.fileDescriptor, input: -1,
            environment: [:])
        var form = Output.Form(.table)
        form.isQuiet = isQuiet
        try action(Output(screen: screen, form: form))
        try pipe.fileHandleForWriting.close()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// A pseudo-terminal: the program's side, and the side of the person in front of it.
struct PseudoTerminal {
    let person: FileHandle
    let program: FileHandle

    init(columns: UInt16, rows: UInt16 = 24) throws {
        // Linux's own requests, because glibc hides posix_openpt(3) from Swift's importer.
        let unlock: UInt = 0x4004_5431  // TIOCSPTLCK
        let openOtherSide: UInt = 0x5441  // TIOCGPTPEER
        let master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var isLocked: Int32 = 0
        try #require(unsafe ioctl(master, unlock, &isLocked) == 0)
        let slave = ioctl(master, openOtherSide, O_RDWR | O_NOCTTY)
        try #require(slave >= 0)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(unsafe ioctl(slave, UInt(TIOCSWINSZ), &size) == 0)
        person = FileHandle(fileDescriptor: master, closeOnDealloc: true)
        program = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    }

    /// A screen whose three streams are this terminal.
    func screen(environment: [String: String] = [:]) -> Screen {
        let descriptor = program.fileDescriptor
        return Screen(
            output: descriptor, error: descriptor, input: descriptor, environment: environment)
    }

    /// What the program has printed so far; ends the terminal.
    func read() throws -> String {
        try program.close()
        var text = Data()
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe Glibc.read(person.fileDescriptor, &chunk, chunk.count)
            // Linux answers EIO once the other side is closed.
            guard count > 0 else { break }
            text.append(contentsOf: chunk[..<count])
        }
        return String(decoding: text, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
    }
}
