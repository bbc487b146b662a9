import Foundation
import ErrandPostgres
import Synchronization
import ErrandTestServices

/// Replicated servers of one test, which `scripts/cluster` runs and breaks.
final class Cluster: Sendable {
    let folder = "\(place)/errand-cluster-\(UUID().uuidString.prefix(8).lowercased())"
    /// In memory where there is room: a new server is a thousand files, which a disk makes slowly.
    private static let place: String = {
        let free = try? FileManager.default.attributesOfFileSystem(forPath: "/dev/shm")[
            .systemFreeSize]
        return (free as? Int ?? 0) > 4 << 30 ? "/dev/shm" : "/var/tmp"
    }()
    /// What the script has printed so far, by name.
    private let facts = Mutex<[String: String]>([:])

    /// Lets a test have one, and ends its servers afterwards.
    static func with(_ body: (Cluster) async throws -> Void) async throws {
        let cluster = Cluster()
        do { try await body(cluster) } catch {
            try? await cluster.run("stop")
            throw error
        }
        try await cluster.run("stop")
    }

    private static let script = Checkout.root.appending(path: "scripts/cluster").path

    /// Runs one of the script's commands.
    func run(_ command: String, _ arguments: String...) async throws {
        let program = try Program("/bin/bash", [Self.script, command, folder] + arguments)
        guard try await program.end(within: .seconds(120)) == .exited(0) else {
            throw Program.Trouble(
                "scripts/cluster \(command) \(arguments.joined(separator: " ")):\n"
                    + program.errors.suffix(4_000))
        }
        for line in program.output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let name = parts[0].split(separator: " ").last else { continue }
            let value = parts[1].drop { $0 == "'" }.prefix { $0 != "'" }
            facts.withLock { $0[String(name)] = String(value) }
        }
    }

    /// What the script has printed under a name, such as DATABASE_URL.
    subscript(_ name: String) -> String {
        get throws {
            guard let value = facts.withLock({ $0[name] }) else {
                throw Program.Trouble("scripts/cluster printed no \(name)")
            }
            return value
        }
    }

    /// The network namespace of host 1, 2 or 3.
    func host(_ number: Int) throws -> String { "\(try self["NETWORK"])-\(number)" }
}

extension CrashGround {
    /// The same test with one server or both elsewhere; a database there has no schema yet.
    func with(
        database: String? = nil, redis: String? = nil,
        _ body: (CrashGround) async throws -> Void
    ) async throws {
        let place = CrashServers.Place(
            database: database ?? place.database, redis: redis ?? place.redis)
        let ground = CrashGround(name: name, place: place, on: servers)
        if database != nil { try await ground.done("migrate", "--modules", "all") }
        try await CrashGround.use(ground) { try await body(ground) }
        await ground.session.close()
    }

    /// Prints how long it took until more of the load was done, after something had broken.
    func reportRecovery(_ what: String, since start: ContinuousClock.Instant) async throws {
        let done = (try? await ledgerCount) ?? 0
        try await eventually("work to go on after \(what)", within: .seconds(90)) {
            ((try? await ledgerCount) ?? 0) > done
        }
        let took = Double((.now - start) / .milliseconds(1)) / 1_000
        print("failover: \(what): work went on after \(String(format: "%.1f", took)) s")
    }
}

/// A client that enqueues one job after the other, and remembers those that were acknowledged.
final class Enqueuer: Sendable {
    private let acknowledged = Notebook<Int64>()
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ ground: CrashGround) {
        let task = Task { [acknowledged] in
            while !Task.isCancelled {
                let id = try? await ground.session.query("SELECT errand.enqueue('demo.ledger')")
                    .int64(0, 0)
                if let id { acknowledged.add(id) }
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0?.cancel() } }

    /// Ends it; returns the ids that were acknowledged.
    func stop() async -> [Int64] {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
        return acknowledged.all
    }
}
