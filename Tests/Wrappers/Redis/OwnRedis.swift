import Foundation
import ErrandRedis
import Synchronization
import ErrandTestServices

/// A Redis of a test's own, on a socket in a folder of its own: one that may be stopped, killed
/// and asked for passwords.
final class OwnRedis: Sendable {
    private let folder: URL
    private let options: [String]
    private let program = Mutex<Program?>(nil)
    var path: String { folder.appending(path: "redis.sock").path }

    /// Starts it with further options, as on the command line of `redis-server`.
    init(_ options: String...) async throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-redis-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.options = options
        try await start()
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts it, empty, after ``kill()``.
    func start() async throws {
        let words =
            ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder.path]
            + ["--save", "", "--appendonly", "no"] + options
        try program.withLock { $0 = try Program("/usr/bin/env", words) }
        try await eventually("the test's own Redis answers") {
            let probe = try connection()
            switch await failure({ _ = try await probe.send(Command("PING")) }) {
            case .unreachable: return false
            // It asks for a password, so it is there.
            default: return true
            }
        }
    }

    /// Ends it at once, as a crash would, and waits until it is gone.
    func kill() async throws {
        signal(SIGKILL)
        try await eventually("the test's own Redis is gone") {
            program.withLock { $0?.isRunning != true }
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Sends it a signal.
    func signal(_ number: Int32) {
        program.withLock { $0?.signal(number) }
    }

    /// Its URL, with what stands before and behind the path.
    func address(_ credentials: String = "", _ options: String = "") throws -> RedisAddress {
        try RedisAddress(url: "unix://\(credentials)\(path)\(options)")
    }

    func connection(
        _ credentials: String = "", replyTimeout: Duration = .seconds(5)
    ) throws -> Connection {
        Connection(try address(credentials), name: "own", replyTimeout: replyTimeout)
    }
}
