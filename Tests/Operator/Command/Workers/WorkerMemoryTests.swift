import ErrandTestServices
import Foundation
import Testing

extension CommandLine {
    @Suite("Memory of a worker") struct WorkerMemoryTests {
        /// The memory of a process that is not mapped from files, in KiB.
        private func anonymous(_ program: Program) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(program.id)/status", encoding: .utf8)
            let line = try #require(
                status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
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
            let before = try anonymous(worker)
            try await enqueue(200, sized: 1_048_000)
            try await allDone()
            try await eventually("at most 20 MiB more than before") {
                try anonymous(worker) <= before + 20 * 1_024
            }
            worker.signal(SIGTERM)
            try await finish(worker).expect(0)
        }
    }
}
