import Foundation
import ErrandTestServices
import Testing

extension FailoverTests {
    /// Workers on three hosts, of which one is cut off from some server.
    ///
    /// The hosts are network namespaces: where none can be made, these tests fail and say so.
    @Suite("Partitions") struct PartitionTests {
        static let load = 20_000

        @Test(.timeLimit(.minutes(4)))
        func `a host that is cut off from PostgreSQL, from Redis or from both does no harm`()
            async throws
        {
            let outer = try CrashGround.here()
            try await Cluster.with { cluster in
                try await cluster.run("network")
                let address = try cluster["ADDRESS"]
                try await cluster.run("single", address)
                try await cluster.run("redis", address)
                let (postgres, redis) = (try cluster["PORTS"], try cluster["REDIS_PORTS"])
                try await outer.with(
                    database: cluster["DATABASE_URL"], redis: cluster["REDIS_URL"]
                ) { ground in
                    try await ground.done("enqueue", "demo.ledger", "--count", "\(Self.load)")
                    let workers = try (1...3).map {
                        try ground.worker(["--queues", "default:8"], on: cluster.host($0))
                    }
                    let partitions = [
                        ("PostgreSQL", postgres), ("Redis", redis),
                        ("both", "\(postgres),\(redis)"),
                    ]
                    for (place, (name, ports)) in partitions.enumerated() {
                        try await ground.progress(to: (place + 1) * 3_000)
                        try await cluster.run("cut", "\(place + 1)", ports)
                        try await ground.expectUnfinished(Self.load)
                        try await ground.reportRecovery(
                            "a host was cut off from \(name)", since: .now)
                        try await cluster.run("heal", "\(place + 1)")
                    }
                    // All at once: none of them reaches both servers.
                    for (place, (_, ports)) in partitions.enumerated() {
                        try await cluster.run("cut", "\(place + 1)", ports)
                    }
                    for worker in workers { #expect(worker.isRunning) }
                    try await Task.sleep(for: .seconds(3))
                    let start = ContinuousClock.now
                    for host in 1...3 { try await cluster.run("heal", "\(host)") }
                    try await ground.expectUnfinished(Self.load)
                    try await ground.reportRecovery("all hosts were healed", since: start)
                    try await ground.allDone()
                    try await ground.expectExactlyOnce(Self.load)
                    for worker in workers { try await ground.expectCleanStop(worker) }
                }
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `the others take over from a leader that is cut off`() async throws {
            let outer = try CrashGround.here()
            try await Cluster.with { cluster in
                try await cluster.run("network")
                let address = try cluster["ADDRESS"]
                try await cluster.run("single", address)
                let postgres = try cluster["PORTS"]
                try await cluster.run("redis", address)
                let redis = try cluster["REDIS_PORTS"]
                try await outer.with(
                    database: cluster["DATABASE_URL"], redis: cluster["REDIS_URL"]
                ) { ground in
                    for ports in [postgres, redis] {
                        // Alone, so that it leads; a small window, so that feeding is needed.
                        let first = try ground.worker(["--window", "100"], on: cluster.host(1))
                        try await ground.done("enqueue", "demo.ledger", "--count", "100")
                        try await ground.allDone()
                        let others = try (2...3).map {
                            try ground.worker(["--window", "100"], on: cluster.host($0))
                        }
                        try await cluster.run("cut", "1", ports)
                        let start = ContinuousClock.now
                        try await ground.done("enqueue", "demo.ledger", "--count", "5000")
                        try await ground.allDone()
                        let name = ports == postgres ? "PostgreSQL" : "Redis"
                        print(
                            "failover: 5000 jobs past a leader without \(name) in "
                                + "\((.now - start) / .seconds(1)) s")
                        try await cluster.run("heal", "1")
                        for worker in [first] + others { try await ground.expectCleanStop(worker) }
                    }
                    try await ground.expectExactlyOnce(10_200)
                }
            }
        }
    }
}
