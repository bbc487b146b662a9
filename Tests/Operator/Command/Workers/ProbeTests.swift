import Foundation
import Glibc
import ErrandHTTP
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Probes") struct ProbeTests {
        @Test func `a worker that works is started, alive and ready`() async throws {
            let worker = try await Listening(["work"])
            try await worker.ready()
            for probe in ["startup", "live", "ready"] {
                // It asks the process alone.
                let run = try await errand(
                    "doctor", "--probe", probe, "-ojson",
                    environment: worker.environment.merging(
                        ["DATABASE_URL": "", "REDIS_URL": ""]) { $1 })
                run.expect(0)
                #expect(try run.record["severity"] == "ok")
            }
            #expect(try await worker.get("/").status == 404)
            #expect(try await worker.get("/metricsx").status == 404)
            try await worker.end()
            let gone = try await errand(
                "doctor", "--probe", "live", environment: worker.environment)
            gone.expect(1, "no answer from http://127.0.0.1:\(worker.port)/livez")
        }

        @Test func `one that stops is alive, and not ready`() async throws {
            try await made("enqueue", "demo.sleep", #"{"ms": 600000}"#)
            let worker = try await Listening(["work", "--grace", "1h"])
            // A claimed job that has not started gets no grace.
            try await eventually("the job to run") {
                try await number(
                    "SELECT coalesce(sum(cardinality(running)), 0) FROM errand.workers") == 1
            }
            try await worker.ready()
            worker.program.signal(SIGTERM)
            try await eventually("it to say that it stops") {
                let answer = try await worker.probe("readyz")
                return answer.status == 503 && answer.text == "stopping\n"
            }
            #expect(try await worker.probe("livez").status == 200)
            #expect(try await worker.probe("startupz").status == 200)
            let probe = try await errand(
                "doctor", "--probe", "ready", environment: worker.environment)
            probe.expect(1, "not ready: stopping")
            try await made("job", "cancel", "1", "--yes")
            try await finish(worker.program).expect(0)
        }

        /// A way to the tests' PostgreSQL that can be taken away.
        private struct Way {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "errand-way-\(UUID().uuidString.prefix(8))")
            let url: String
            private let link: URL
            private let socket: String

            init() throws {
                let database = try TestDatabase.here()
                let parts = try #require(URLComponents(string: database.url))
                let items = try #require(parts.queryItems)
                let host = try #require(items.first { $0.name == "host" }?.value)
                let port = items.first { $0.name == "port" }?.value ?? "5432"
                socket = "\(host)/.s.PGSQL.\(port)"
                link = folder.appending(path: ".s.PGSQL.\(port)")
                url = database.url.replacing(host, with: folder.path)
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true)
                try open()
            }

            func open() throws {
                try FileManager.default.createSymbolicLink(
                    atPath: link.path, withDestinationPath: socket)
            }

            /// Ends every connection of a worker, and lets it make no new one.
            func close() async throws {
                try FileManager.default.removeItem(at: link)
                try await change(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name LIKE 'errand-%'
                      AND pid <> pg_backend_pid()
                    """)
            }
        }

        @Test func `without PostgreSQL it is alive and not ready, and mends`() async throws {
            let way = try Way()
            defer { try? FileManager.default.removeItem(at: way.folder) }
            let worker = try await Listening(
                ["work", "--lease", "1s"], environment: ["DATABASE_URL": way.url])
            try await worker.ready()
            try await way.close()
            try await eventually("it to notice") {
                let answer = try await worker.probe("readyz")
                return answer.status == 503
                    && answer.text.hasPrefix("PostgreSQL has taken no heartbeat for ")
            }
            #expect(try await worker.probe("livez").status == 200)
            // What the process itself knows is told all the same.
            let scrape = try await worker.scrape()
            #expect(scrape["errand_up", ["server": "postgresql"]] == 0)
            #expect(scrape["errand_ready"] == 0)
            #expect(scrape["errand_worker_concurrency", ["queue": "default"]] == 32)
            #expect(!scrape.names.contains("errand_queue_jobs"))
            #expect(
                try #require(
                    scrape["errand_connects_total", ["server": "postgresql", "result": "failed"]])
                    > 0)
            try way.open()
            try await worker.ready()
            try await worker.end()
        }

        @Test func `without Redis it is alive and not ready, and mends`() async throws {
            let server = try await OwnServer()
            let worker = try await Listening(["work"], environment: server.environment)
            try await worker.ready()
            server.program.signal(SIGSTOP)
            try await eventually("it to notice") {
                let answer = try await worker.probe("readyz")
                return answer.status == 503 && answer.text.hasPrefix("Redis does not answer")
            }
            #expect(try await worker.probe("livez").status == 200)
            server.program.signal(SIGCONT)
            try await worker.ready()
            try await worker.end()
        }

        @Test func `a port that is taken, and addresses that are none`() async throws {
            let taken = try LocalListener()
            let arguments = ["work", "--listen", "127.0.0.1:\(taken.port)"]
            try await errand(arguments).expect(
                1, "cannot listen on 127.0.0.1:\(taken.port): Address already in use",
                "another process listens there")
            try await errand("schedule", "run", "--listen", "127.0.0.1:\(taken.port)")
                .expect(1, "Address already in use")
            #expect(try await number("SELECT count(*) FROM errand.workers") == 0)
            for text in ["nowhere", "1.2.3.4", "::1:80", "99999"] {
                try await errand("work", "--drain", "--listen", text).expect(2, "expected a port")
                try await errand(
                    "doctor", "--probe", "live", environment: ["ERRAND_LISTEN": text]
                ).expect(2, "expected a port")
            }
            try await errand("doctor", "--probe", "live").expect(2, "ERRAND_LISTEN is not set")
            try await errand("doctor", "--probe", "dead").expect(2, "startup, live or ready")
        }

        @Test func `a probe waits for no answer for long`() async throws {
            let silent = try LocalListener()
            try await errand(
                "doctor", "--probe", "live",
                environment: ["ERRAND_LISTEN": "127.0.0.1:\(silent.port)"]
            ).expect(1, "the request timed out")
        }
    }

    @Suite("Format of the log") struct LogFormatTests {
        @Test func `JSON is one object a line, the last error included`() async throws {
            let environment = ["ERRAND_LOG_FORMAT": "json"]
            try await made("enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1")
            let run = try await errand("work", "--drain", environment: environment)
            run.expect(0)
            let lines = try Self.lines(run.errors)
            #expect(lines.contains { $0["job"] != nil && $0["kind"] == "demo.fail" })
            let failed = try await errand(
                "work",
                environment: environment.merging(
                    ["DATABASE_URL": "postgresql://errand:hidden\"\u{7}@127.0.0.1:1/x"]) { $1 })
            #expect([1, 2, 6].contains(failed.code))
            let last = try #require(try Self.lines(failed.errors).last)
            #expect(last["level"] == "error")
            #expect(last["exit"].number == Double(failed.code))
            #expect(!failed.errors.contains("hidden"))
        }

        private static func lines(_ text: String) throws -> [JSON] {
            let lines = try text.split(separator: "\n").map { line in
                try Run(arguments: [], output: String(line), errors: "", code: 0).record
            }
            #expect(!lines.isEmpty)
            for line in lines {
                #expect(line.names.isSuperset(of: ["at", "level", "message"]))
                #expect(line["at"].text?.hasSuffix("Z") == true)
            }
            return lines
        }

        @Test func `text is for people, wherever it goes`() async throws {
            try await made("enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1")
            let run = try await errand(
                "work", "--drain", environment: ["ERRAND_LOG_FORMAT": "text"])
            run.expect(0, " warning the job is a dead letter: ", " kind=demo.fail")
            #expect(!run.errors.contains("{"))
        }

        @Test func `JSON is written on a terminal too, where it is asked for`() async throws {
            let run = try await onTerminal(
                "work", "--drain", steps: [], environment: ["ERRAND_LOG_FORMAT": "json"])
            #expect(run.text.contains(#""level":"info""#))
        }

        @Test func `a format that is not there is an error`() async throws {
            try await errand("work", "--drain", environment: ["ERRAND_LOG_FORMAT": "jsno"])
                .expect(2, "ERRAND_LOG_FORMAT=jsno", "did you mean json?", "text, json")
        }
    }
}
