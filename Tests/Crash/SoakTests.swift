import Foundation
import ErrandTestServices
import Testing

/// A short run of `scripts/soak`, which has servers of its own; its targets need longer ones.
@Suite("Soak") struct SoakTests {
    @Test(.timeLimit(.minutes(5)))
    func `rule 3: two workers under a mixed load and a dump run each job once`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-soak-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let soak = try Program(
            "/usr/bin/env",
            [
                "python3", Checkout.root.appending(path: "scripts/soak").path, "--minutes", "0.5",
                "--rate", "600", "--with", Program.errand, "--folder", folder.path,
            ])
        let end = try await soak.end(within: .seconds(240))
        #expect(end == .exited(0), "\(soak.output)\n\(soak.errors.suffix(4_000))")
        // The load was there, of each way to enqueue and end.
        let header = try #require(
            String(contentsOf: folder.appending(path: "samples.csv"), encoding: .utf8)
                .split(separator: "\n").first)
        #expect(header.contains("wait_p99_ms"))
        #expect(soak.output.contains("ids that never finished"))
        #expect(!soak.output.contains("WRONG"))
    }
}
