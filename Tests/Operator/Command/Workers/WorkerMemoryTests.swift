import ErrandTestServices
import Foundation
import Testing

extension CommandLine {
    @Suite("Memory of a worker") struct WorkerMemoryTests {
        /// The memory of a process in KiB: `RssAnon` is what is not mapped from files, `VmHWM` the
        /// peak of all.
        private func memory(_ name: String, of program: Program) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(program.id)/status", encoding: .utf8)
            let line = try #require(
                status.split(separator: "\n").first { $0.hasPrefix("\(name):") })
            return try #require(Int(line.split { $0 == " " || $0 == "\t" }[1]))
        }

        private func enqueue(_ count: Int, sized bytes: Int) async throws {
            try await change(
                """
                WITH pad AS MATERIALIZED (
                    SELECT string_agg(md5(n::text), '') AS text
                    FROM generate_series(1, \(bytes / 32)) n
                )
                SELECT errand.enqueue('demo.noop', jsonb_build_object('pad', text))
                FROM pad, generate_series(1, \(count))
                """)
        }

        private func allDone() async throws {
            try await eventually("the end of all jobs", within: .seconds(120)) {
                try await number("SELECT count(*) FROM errand.jobs") == 0
            }
        }

        @Test func `large arguments take memory only while their jobs run`() async throws {
            let worker = try start(["work"])
            try await enqueue(200, sized: 64)
            try await allDone()
            let before = try memory("RssAnon", of: worker)
            // An idle worker claims many at once.
            try await made("queue", "pause", "default")
            try await enqueue(200, sized: 1_048_000)
            try await made("queue", "resume", "default")
            try await allDone()
            #expect(try memory("VmHWM", of: worker) < 160 * 1_024)
            try await eventually("at most 20 MiB more than before") {
                try memory("RssAnon", of: worker) <= before + 20 * 1_024
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }
    }
}
