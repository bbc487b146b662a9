import Foundation
import ErrandTestServices
import Testing

extension CommandLine {
    @Suite("Metrics") struct MetricsTests {
        @Test func `counters are of the jobs that ran, in both formats`() async throws {
            try await made("enqueue", "demo.noop", "--count", "40")
            try await made("enqueue", "demo.fail", #"{"times": 1}"#, "--count", "3")
            try await made(
                "enqueue", "demo.fail", #"{"times": 9}"#, "--max-attempts", "1", "--count", "2")
            try await made("enqueue", "demo.noop", "--in", "1h", "--count", "5")
            try await made("enqueue", "demo.noop", "--queue", "nobody", "--count", "7")
            try await change("INSERT INTO errand.queues (name) VALUES ('mail')")
            try await made("queue", "pause", "mail")
            let worker = try await Listening(["work", "--queues", "default:4,mail:2"])
            try await eventually("the jobs to end") {
                try await number("SELECT count(*) FROM errand.jobs WHERE queue = 'default'") == 5
            }
            try await worker.ready()
            let plain = try await worker.scrape()
            let open = try await worker.scrape(openMetrics: true)
            for scrape in [plain, open] {
                func ended(_ kind: String, _ outcome: String) -> Double? {
                    scrape[
                        "errand_jobs_ended_total",
                        ["queue": "default", "kind": kind, "outcome": outcome]]
                }
                #expect(ended("demo.noop", "completed") == 40)
                #expect(ended("demo.noop", "dead") == 0)
                #expect(ended("demo.fail", "completed") == 3)
                #expect(ended("demo.fail", "retried") == 3)
                #expect(ended("demo.fail", "dead") == 2)
                #expect(ended("demo.fail", "cancelled") == 0)
                #expect(scrape["errand_jobs_started_total", ["kind": "demo.fail"]] == 5)
                #expect(scrape["errand_claimed_jobs_total", ["queue": "default"]] == 48)
                let runs = ["queue": "default", "kind": "demo.fail"]
                #expect(scrape["errand_job_run_seconds_count", runs] == 8)
                #expect(
                    scrape["errand_job_run_seconds_bucket", runs.merging(["le": "+Inf"]) { $1 }]
                        == 8)
                #expect(try #require(scrape["errand_job_wait_seconds_sum", runs]) > 0)
                #expect(scrape["errand_worker_concurrency", ["queue": "mail"]] == 2)
                #expect(scrape["errand_worker_running_jobs", ["queue": "default"]] == 0)
                #expect(scrape["errand_worker_paused", ["queue": "mail"]] == 1)
                #expect(scrape["errand_window_ids", ["queue": "mail"]] == 0)
                #expect(scrape["errand_queue_paused", ["queue": "mail"]] == 1)
                for (state, count) in [
                    ("available", 0), ("scheduled", 5), ("retrying", 0), ("running", 0),
                    ("dead", 2),
                ] {
                    #expect(
                        scrape["errand_queue_jobs", ["queue": "default", "state": state]]
                            == Double(count), "\(state)")
                }
                #expect(
                    scrape["errand_queue_jobs", ["queue": "nobody", "state": "available"]] == 7)
                #expect(scrape["errand_queue_workers", ["queue": "nobody"]] == 0)
                #expect(
                    try #require(
                        scrape["errand_queue_oldest_wait_seconds", ["queue": "nobody"]]) > 0)
                #expect(scrape["errand_queue_oldest_wait_seconds", ["queue": "mail"]] == 0)
                #expect(scrape["errand_workers", ["state": "working"]] == 1)
                #expect(scrape["errand_up", ["server": "postgresql"]] == 1)
                #expect(scrape["errand_up", ["server": "redis"]] == 1)
                #expect(scrape["errand_ready"] == 1)
                #expect(scrape["notification_webhook_endpoints", ["state": "live"]] == 0)
                #expect(try #require(scrape["process_resident_memory_bytes"]) > 1_000_000)
                let began = Date(
                    timeIntervalSince1970: try #require(scrape["process_start_time_seconds"]))
                #expect(abs(began.timeIntervalSinceNow) < 3_600)
            }
            #expect(open.samples.contains { $0.name == "errand_build_info" && $0.type == "info" })
            try await promtool("check", "metrics", input: plain.text).expect(0)
            try await worker.end()
        }

        @Test func `buckets are cumulative, and hold what a job took`() async throws {
            try await made("enqueue", "demo.sleep", #"{"ms": 120}"#, "--count", "3")
            let worker = try await Listening(["work"])
            try await eventually("the jobs to end") {
                try await number("SELECT count(*) FROM errand.finished_jobs") == 3
            }
            let scrape = try await worker.scrape()
            let buckets = scrape.samples.filter { $0.name == "errand_job_run_seconds_bucket" }
                .map { (bound: Double($0.labels["le"] ?? "") ?? .infinity, count: $0.value) }
                .sorted { $0.bound < $1.bound }
            #expect(buckets.count == 21)
            #expect(buckets.map(\.count) == buckets.map(\.count).sorted())
            #expect(buckets.last?.count == 3)
            // A job sleeps at least for so long; how much longer depends on the machine.
            #expect(buckets.last { $0.bound < 0.12 }?.count == 0)
            #expect(try #require(scrape["errand_job_run_seconds_sum"]) >= 0.36)
            try await worker.end()
        }

        @Test func `a scheduler shows what it knows`() async throws {
            try await made("schedule", "add", "test.one", "@every 1h", "--kind", "demo.noop")
            try await made("schedule", "add", "test.two", "@every 1h", "--kind", "demo.noop")
            try await made("schedule", "pause", "test.two")
            let scheduler = try await Listening(
                ["schedule", "run"], environment: ["REDIS_URL": ""])
            try await scheduler.ready()
            try await eventually("it to lead") {
                try await number("SELECT count(*) FROM errand.leaders l WHERE errand.is_led(l)") > 0
            }
            let scrape = try await scheduler.scrape(openMetrics: true)
            #expect(scrape["errand_schedules", ["state": "active"]] == 1)
            #expect(scrape["errand_schedules", ["state": "paused"]] == 1)
            #expect(scrape["errand_leader", ["role": "scheduler"]] == 1)
            #expect(scrape["errand_leader", ["role": "feeder"]] == 0)
            #expect(scrape["errand_up", ["server": "redis"]] == nil)
            #expect(!scrape.names.contains("errand_worker_concurrency"))
            try await scheduler.end()
        }

        @Test func `the dashboard and the alerts ask for what there is`() async throws {
            try await made("enqueue", "demo.noop")
            let worker = try await Listening(["work"])
            try await worker.ready()
            try await eventually("the job to end") {
                try await number("SELECT count(*) FROM errand.finished_jobs") == 1
            }
            let names = try await worker.scrape().names
            try await worker.end()
            for file in ["deploy/grafana/errand.json", "deploy/prometheus/alerts.yaml"] {
                let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
                let asked = Set(
                    text.matches(of: /\b(?:errand|process)_[a-z_]+\b/).map { String($0.output) })
                #expect(asked.count > 5)
                // A label that looks like a metric would have to be left out here.
                #expect(asked.subtracting(names) == [], "\(file) asks for what no scrape has")
            }
            struct Dashboard: Decodable {
                struct Panel: Decodable {
                    struct Target: Decodable { var expr: String }
                    var id: Int
                    var title: String
                    var targets: [Target]?
                }
                var panels: [Panel]
            }
            let dashboard = try JSONDecoder().decode(
                Dashboard.self, from: Data(contentsOf: URL(filePath: "deploy/grafana/errand.json")))
            #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
            let expressions = dashboard.panels.flatMap { $0.targets ?? [] }.map(\.expr)
            #expect(expressions.count > 20)
            // promtool checks expressions where they stand in rules.
            let rules = expressions.enumerated().map { place, expression in
                let filled = expression.replacing("$__rate_interval", with: "5m")
                return "  - record: panel:expression\(place)\n    expr: '\(filled)'\n"
            }
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "errand-rules-\(UUID().uuidString).yaml")
            defer { try? FileManager.default.removeItem(at: folder) }
            let text = "groups:\n- name: panels\n  rules:\n" + rules.joined()
            try Data(text.utf8).write(to: folder)
            try await promtool("check", "rules", folder.path).expect(0)
        }

        @Test func `the alert rules fire when they should, and else not`() async throws {
            let folder = "deploy/prometheus"
            let checked = try await promtool("check", "rules", "\(folder)/alerts.yaml")
            checked.expect(0)
            let run = try await promtool("test", "rules", "\(folder)/alerts_test.yaml")
            #expect(run.code == 0, "\(run.output)\n\(run.errors)")
            // Each rule has a case in which it fires.
            let rules = try String(
                contentsOf: URL(filePath: "\(folder)/alerts.yaml"), encoding: .utf8)
            let tests = try String(
                contentsOf: URL(filePath: "\(folder)/alerts_test.yaml"), encoding: .utf8)
            for rule in rules.matches(of: /- alert: (\w+)/) {
                let fires = #"alertname="\#(rule.output.1)", alertstate="firing", "#
                #expect(tests.contains(fires), "no case lets \(rule.output.1) fire")
            }
        }
    }
}
