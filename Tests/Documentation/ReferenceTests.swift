import Foundation
import ErrandCommand
import ErrandDemo
import ErrandKeys
import ErrandTerminal
import ErrandTestServices
import Testing

/// The program with all modules, as `Sources/errand` makes it.
let wholeProgram = ErrandCommand.program(
    name: "errand", version: Build.version,
    summary: "A job queue on PostgreSQL and Redis: its worker and its tools",
    modules: AllModules.all + [KeysModule(), DemoModule()])

@Suite("The reference in docs") struct ReferenceTests {
    @Test(arguments: ["cli.md", "settings.md"])
    func `is what the declarations say now`(_ file: String) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "errand-reference-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let run = try Program(Program.errand, ["manual", "--markdown", folder.path])
        #expect(try await run.end(within: .seconds(600)) == .exited(0))
        let written = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        let kept = try String(
            contentsOf: Checkout.root.appending(path: "docs/\(file)"), encoding: .utf8)
        #expect(
            written == kept,
            "docs/\(file) is stale: run '.build/release/errand manual --markdown docs'")
    }
}
