import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

/// The bare loops of `scripts/bench`, which run the engine's statements with nothing around them.
@Suite("Bare loops", .database) struct BareLoopTests {
    private struct Report: Decodable {
        var jobs: Double
    }

    /// Runs one of them, and returns the number of jobs that it reports.
    private func jobs(_ words: String...) async throws -> Int {
        let program = try Program(
            Checkout.root.appending(path: ".build/debug/ErrandBench").path, words,
            environment: [
                "DATABASE_URL": try TestDatabase.here().url,
                "REDIS_URL": try TestDatabase.environment("REDIS_URL"),
            ])
        let end = try await program.end(within: .seconds(40))
        #expect(end == .exited(0), "\(program.errors)")
        let report = try JSONDecoder().decode(Report.self, from: Data(program.output.utf8))
        return Int(report.jobs)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["swift", "sql"])
    func `each probe starts once`(by: String) async throws {
        let record = FileManager.default.temporaryDirectory
            .appending(path: "errand-probe-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: record) }
        let started = try await jobs(
            "raw-probe", "--count", "20", "--rate", "100", "--by", by, "--record", record.path)
        #expect(started == 20)
        let lines = try String(contentsOf: record, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 20)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a drain completes what was enqueued`() async throws {
        #expect(try await jobs("raw-enqueue", "--count", "20", "--batch", "10") == 20)
        // One more batch, with which the connection is prepared.
        #expect(try await jobs("raw-drain", "--count", "100") == 30)
        let session = try TestDatabase.here().session()
        #expect(try await session.query("SELECT count(*) FROM errand.jobs").int64(0, 0) == 0)
    }
}
