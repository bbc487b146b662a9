import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

/// What the tests of apps need on a ``CrashGround``: workers with keys, and people who ask again.
extension CrashGround {
    /// The variables of programs that seal and open secrets, with a new file of keys.
    func keys() async throws -> [String: String] {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-keys-\(name)")
        try Data(try await done("key", "new").utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        remove(file)
        return ["ERRAND_KEYS_FILE": file.path]
    }

    /// Starts a worker of some queues, whose lease is short.
    func worker(of queues: String, _ environment: [String: String] = [:]) throws -> Program {
        try start(
            ["work", "--lease", "2s", "--grace", "5s", "--queues", queues],
            environment: environment)
    }

    /// Lets workers of some queues work, one after the other, and kills each at a random moment;
    /// every fourth time the database's server with it.
    ///
    /// - Parameters:
    ///   - pause: how many milliseconds before a kill, beside a fifth of a second for each kill
    ///     before: the more was killed, the longer the next one lives.
    ///   - longest: the most of that.
    ///   - isOver: called after each kill, with how many there were.
    /// - Returns: how often a worker was killed.
    func killWorkers(
        of queues: String, _ environment: [String: String] = [:], pause: ClosedRange<Int>,
        longest: Int, within limit: Duration, until isOver: (Int) async -> Bool
    ) async throws -> Int {
        let end = ContinuousClock.now + limit
        var kills = 0
        while ContinuousClock.now < end {
            let worker = try worker(of: queues, environment)
            try await Task.sleep(
                for: .milliseconds(min(kills * 200, longest) + Int.random(in: pause)))
            if kills % 4 == 3 { try await servers.crashPostgres() }
            worker.signal(SIGKILL)
            _ = try await worker.end(within: .seconds(30))
            kills += 1
            if await isOver(kills) { break }
        }
        return kills
    }
}

/// Asks a database again and again until there is something to return: servers go away and come
/// back.
func asked<Value>(
    until end: ContinuousClock.Instant, _ trouble: String, _ body: () async throws -> Value?
) async throws -> Value {
    var last: PostgresError?
    while ContinuousClock.now < end {
        do {
            if let value = try await body() { return value }
        } catch let error as PostgresError {
            last = error
        }
        try await Task.sleep(for: .milliseconds(20))
    }
    throw Program.Trouble("\(trouble): \(last.map { "\($0)" } ?? "it is not ready")")
}
