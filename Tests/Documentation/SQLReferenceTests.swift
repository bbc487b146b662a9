import Foundation
import ErrandTestServices
import Testing

@Suite("The pages of SQL functions") struct SQLReferenceTests {
    /// Starts servers of its own, with the logins of `deploy/postgres`.
    @Test(.timeLimit(.minutes(10)))
    func `they are what the comments say, and every sample runs as printed`() async throws {
        let program = try Program(
            "/usr/bin/env",
            [
                "python3", Checkout.root.appending(path: "scripts/reference").path, "--samples",
                "--with", Program.errand,
            ])
        let end = try await program.end(within: .seconds(500))
        #expect(end == .exited(0), "\(program.errors)")
        #expect(program.output.contains(" 0 faults"))
    }
}
