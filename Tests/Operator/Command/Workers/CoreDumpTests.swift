import Foundation
import Glibc
import ErrandTestServices
import Testing

extension CommandLine {
    /// A core dump of a worker holds opened keys.
    @Suite("Core dumps") struct CoreDumpTests {
        /// The soft and the hard limit of a process, in bytes.
        private func limits(of program: Program) throws -> [Substring] {
            let text = try String(contentsOfFile: "/proc/\(program.id)/limits", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.contains("core file") })
            return Array(line.split(separator: " ").dropFirst(4).prefix(2))
        }

        @Test func `a worker leaves none, whatever the shell allows`() async throws {
            let script = "ulimit -c unlimited; exec \(Program.errand) work"
            let worker = try start([], through: ["/bin/bash", "-c", script])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            // The kernel pipes no dump to a program for a limit of one byte, and writes no file.
            #expect(try limits(of: worker) == ["1", "1"])
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }

        @Test func `a lower limit stays`() async throws {
            let script = "ulimit -c 0; exec \(Program.errand) work"
            let worker = try start([], through: ["/bin/bash", "-c", script])
            try await eventually("the worker to sign on") {
                try await number("SELECT count(*) FROM errand.workers") == 1
            }
            #expect(try limits(of: worker) == ["0", "0"])
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }
    }
}
