import CErrandSystem
import Foundation
import Glibc
import Synchronization

/// One process that a test has started, with what it prints kept in files.
package final class Program: Sendable {
    package struct Trouble: Error, CustomStringConvertible {
        package var description: String
        package init(_ text: String) { description = text }
    }

    /// How a process ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)
    }

    package let id: Int32
    private let folder: URL
    private let ended = Mutex<End?>(nil)

    /// Where the command that is tested lies.
    package static var errand: String {
        ProcessInfo.processInfo.environment["ERRAND_BINARY"] ?? ".build/debug/errand"
    }

    /// Starts a program; `environment` is added to the tests' own.
    package init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        input: String? = nil
    ) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        func file(_ name: String, _ content: String = "") throws -> URL {
            let file = folder.appending(path: name)
            try Data(content.utf8).write(to: file)
            return file
        }
        let all = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no", "ERRAND_DEMO": "1"]) { $1 }.merging(
                environment
            ) { $1 }
        id = try Self.spawn(
            [path] + arguments, environment: all.map { "\($0)=\($1)" },
            files: [file("input", input ?? ""), file("output"), file("errors")])
    }

    /// Starts a process with these files as its first three descriptors, and no others.
    ///
    /// Not through Foundation, whose `Process` reads past the end of its list of descriptors when
    /// there are hundreds of them, as in a run of all tests at once.
    private static func spawn(
        _ words: [String], environment: [String], files: [URL]
    ) throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, file) in files.enumerated() {
            unsafe posix_spawn_file_actions_addopen(
                &actions, Int32(descriptor), file.path,
                descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, Int32(files.count))
        // The threads of the tests block signals, which a child would inherit.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var id: pid_t = 0
        let code = unsafe posix_spawn(
            &id, words[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else {
            throw Trouble(
                "\(words[0]) cannot be started: \(unsafe String(cString: strerror(code)))")
        }
        return id
    }

    deinit {
        signal(SIGKILL)
        // So that no process is left that nobody has waited for.
        var status: Int32 = 0
        if isRunning { unsafe waitpid(id, &status, 0) }
        try? FileManager.default.removeItem(at: folder)
    }

    package var isRunning: Bool { look() == nil }

    /// How it ended; nil while it runs.
    private func look() -> End? {
        ended.withLock { ended in
            if let ended { return ended }
            var status: Int32 = 0
            guard unsafe waitpid(id, &status, WNOHANG) == id else { return nil }
            let signal = status & 0x7f
            ended = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(by: signal)
            return ended
        }
    }

    package var output: String { text("output") }
    package var errors: String { text("errors") }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    /// Sends a signal, unless it has ended: its number may be another's by then.
    package func signal(_ number: Int32) {
        if isRunning { _ = kill(id, number) }
    }

    /// Waits for its end, without holding a thread.
    package func end(within limit: Duration) async throws -> End {
        do {
            try await eventually("the end of process \(id)", within: limit) { !isRunning }
        } catch {
            throw Trouble("\(error)\n\(errors.suffix(4_000))")
        }
        guard let end = look() else { throw Trouble("process \(id) runs again") }
        return end
    }
}
