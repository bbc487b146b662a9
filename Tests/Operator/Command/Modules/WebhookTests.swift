import Foundation
import Glibc
import ErrandPostgres
import ErrandTestServices
import Testing

extension AppCommands {
    /// Endpoints and events, by the program that users have.
    @Suite("errand webhook") struct WebhookTests {
        private static let secretURL = "https://hooks.example.org/in?key=sekret"

        /// Adds an endpoint and returns its record.
        private func add(
            _ url: String = secretURL, _ more: String..., environment: [String: String]
        ) async throws -> JSON {
            let run = try await errand(
                ["webhook", "add", "--owner", "app:survey", "--url", url, "-ojson"] + more,
                environment: environment)
            run.expect(0)
            return try run.record
        }

        private func withKeys(_ body: ([String: String]) async throws -> Void) async throws {
            let keys = try KeyRing([KeyRing.line("k1", 1)])
            defer { keys.remove() }
            try await body(keys.environment)
        }

        /// The environment in which events go to a sink.
        private func open(_ keys: [String: String], to sink: PushSink) -> [String: String] {
            keys.merging([
                "ERRAND_WEBHOOKS_CA": sink.credentials.authority,
                "ERRAND_WEBHOOKS_PRIVATE": "allow",
            ]) { $1 }
        }

        @Test func `an endpoint is added, shown without what is secret, and removed`()
            async throws
        {
            try await withKeys { keys in
                let made = try await add(environment: keys)
                let secret = try #require(made["secret"].text)
                #expect(secret.contains(#/^whsec_[A-Za-z0-9+/]{43}=$/#))
                #expect(made["url"] == "https://hooks.example.org/…" && made["events"] == ["*"])
                let id = made["id"].id
                for words in [["ls"], ["show", id], ["events"]] {
                    let run = try await errand(["webhook"] + words + ["-owide"])
                    run.expect(0)
                    #expect(!run.output.contains("sekret") && !run.output.contains(secret))
                }
                let shown = try await errand(
                    "webhook", "show", id, "--reveal", "--reason", "ticket 8", "-ojson")
                shown.expect(0)
                #expect(try shown.record["url"] == .text(Self.secretURL))
                #expect(!shown.output.contains(secret))
                try await errand("webhook", "rm", id).expect(5, "https://hooks.example.org/…")
                try await errand("webhook", "rm", id, "--yes").expect(0)
                let audit = try await errand("audit", "ls", "-ojson")
                #expect(
                    try audit.records.map { $0["action"] }
                        == ["webhook rm", "webhook show --reveal", "webhook add"])
                #expect(!audit.output.contains("sekret") && !audit.output.contains(secret))
                for verb in ["show", "rm", "test", "enable", "disable"] {
                    try await errand("webhook", verb, id, environment: keys)
                        .expect(3, "there is no endpoint \(id)", "'errand webhook ls'")
                }
            }
        }

        @Test func `bad input is refused, and a URL is never repeated`() async throws {
            try await withKeys { keys in
                let rows: [(url: String, more: [String], said: String)] = [
                    ("http://hooks.example/sekret", [], "--url: expected https://"),
                    ("sekret", [], "--url: expected https://"),
                    ("https://hooks.example/sekret words", [], "--url: expected https://"),
                    ("https://h/" + String(repeating: "x", count: 2000), [], "--url: expected"),
                    ("https://me:sekret@h/", [], "--url: expected a URL without user:password@"),
                    ("https://sekret@h:8443?a", [], "--url: expected a URL without"),
                    ("https://h/", ["--owner", ""], "--owner"),
                    ("https://h/", ["--owner", "a\nb"], "--owner: expected 1 to 200"),
                    ("https://h/", ["--events", "A b"], "a kind of event such as"),
                ]
                for (url, more, said) in rows {
                    let owner = more.first == "--owner" ? [] : ["--owner", "app:a"]
                    let run = try await errand(
                        ["webhook", "add", "--url", url] + owner + more, environment: keys)
                    run.expect(2, said)
                    #expect(!run.errors.contains("sekret"))
                }
                try await errand("webhook", "add", "--url", "https://h/", environment: keys)
                    .expect(2, "--owner")
                try await errand(
                    "webhook", "add", "--url", "https://h/", "--owner", "app:a"
                ).expect(2, "ERRAND_KEYS_FILE is not set", "'errand key new'")
                try await errand("webhook", "secret", "1", environment: keys)
                    .expect(2, "--rotate or --finish is required")
                let wrong = keys.merging(["ERRAND_WEBHOOKS_PRIVATE": "yes"]) { $1 }
                try await errand("work", "--drain", environment: wrong)
                    .expect(2, "ERRAND_WEBHOOKS_PRIVATE: expected allow")
                #expect(try await number("SELECT count(*) FROM notification.endpoints") == 0)
            }
        }

        @Test func `an endpoint with a login stays disabled, one with a port works`() async throws {
            try await withKeys { keys in
                // As the migration leaves one of an earlier version.
                try await change(
                    """
                    INSERT INTO notification.endpoints (owner, url, events, secret, disabled_at,
                        disabled_reason)
                    VALUES ('app:a', 'https://me:sekret@hooks.example/', '{*}', '\\x01', now(),
                        'its URL contains a login')
                    """)
                let run = try await errand("webhook", "enable", "1", environment: keys)
                run.expect(4, "contains a login", "add it again without user:password@")
                #expect(!run.errors.contains("sekret"))
                let made = try await add("https://hooks.example:8443/a@b?c=@", environment: keys)
                #expect(made["url"] == "https://hooks.example:8443/…")
            }
        }

        @Test func `its secret is changed in two steps`() async throws {
            try await withKeys { keys in
                let made = try await add(environment: keys)
                let id = made["id"].id
                func secret(_ words: String...) async throws -> Run {
                    try await errand(
                        ["webhook", "secret", id, "-ojson"] + words, environment: keys)
                }
                try await secret("--finish").expect(4, "has only one secret")
                let second = try await secret("--rotate").record
                #expect(second["secrets"] == 2 && second["secret"] != made["secret"])
                try await secret("--rotate").expect(4, "already has two secrets")
                let finished = try await secret("--finish")
                #expect(try finished.record["secrets"] == 1)
                #expect(!finished.output.contains("whsec_"))
            }
        }

        @Test func `an event goes the whole way, and leaves no secret behind`() async throws {
            try await withKeys { keys in
                try await withPushSink(["hook:/hook/bad*=500 body=sekret"]) { sink in
                    let environment = open(keys, to: sink)
                    let socket = try TestDatabase.environment("REDIS_URL")
                        .replacing("unix://", with: "")
                    let monitor = try Program(
                        "/usr/bin/env", ["redis-cli", "-s", socket, "monitor"])
                    try await eventually("the monitor listens") { monitor.output.contains("OK") }
                    var secrets = ["sekret"]
                    for path in ["good", "bad"] {
                        let made = try await add(
                            "\(sink.url)/hook/\(path)?key=sekret", environment: environment)
                        secrets.append(try #require(made["secret"].text))
                    }
                    try await change(
                        """
                        SELECT notification.emit('coupon.redeemed', 'app:survey', '{"coupon": 9}',
                            'coupon:9')
                        """)
                    let run = try await errand(
                        "work", "--queues", "webhooks", "--drain",
                        environment: environment.merging(["ERRAND_LOG": "debug"]) { $1 })
                    run.expect(0, "sending webhooks, sealed by key k1, private addresses allowed")
                    let events = try await errand("webhook", "events", "-ojson")
                    #expect(
                        try events.records.map { $0["status"] } == ["pending", "delivered"])
                    let requests = try sink.requests("hook")
                    #expect(requests.count == 2)
                    #expect(
                        requests.allSatisfy {
                            $0.path?.hasSuffix("?key=sekret") == true
                                && $0.body?.contains(#""data":{"coupon": 9}"#) == true
                        })
                    monitor.signal(SIGTERM)
                    _ = try await monitor.end(within: .seconds(20))
                    let jobs = try await errand("job", "ls", "--state", "all", "-ojson")
                    let places = [
                        run.errors, run.output, events.output, jobs.output, monitor.output,
                        try await tables(),
                    ]
                    for (number, text) in places.enumerated() {
                        for secret in secrets {
                            #expect(!text.contains(secret), "place \(number)")
                        }
                    }
                    #expect(places[5].contains("notification.webhook"))
                }
            }
        }

        /// All rows but those of endpoints.
        private func tables() async throws -> String {
            let session = try TestDatabase.here().session()
            let names = try await session.query(
                """
                SELECT format('%I.%I', n.nspname, c.relname)
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                  AND n.nspname IN ('errand', 'notification') AND c.relname <> 'endpoints'
                """
            ).map { try $0.text(0) }
            var text = ""
            for name in names {
                for row in try await session.query("SELECT t::text FROM \(name) t") {
                    text += try row.text(0) + "\n"
                }
            }
            await session.close()
            return text
        }

        @Test func `a test takes the real way, and tells the answer`() async throws {
            try await withKeys { keys in
                try await withPushSink(["hook:/hook/bad=500", "hook:/hook/gone=410"]) { sink in
                    let environment = open(keys, to: sink)
                    var ids: [String] = []
                    for path in ["good", "bad", "gone"] {
                        // Whatever kinds it wants.
                        ids.append(
                            try await add(
                                "\(sink.url)/hook/\(path)", "--events", "other",
                                environment: environment)["id"].id)
                    }
                    try await errand("webhook", "test", ids[0], "--timeout", "1s")
                        .expect(8, "timed out: no answer", "a worker must run the queue webhooks")
                    let worker = try start(
                        ["work", "--queues", "webhooks", "--no-schedules"],
                        environment: environment)
                    let good = try await errand("webhook", "test", ids[0], "-ojson")
                    good.expect(0)
                    #expect(try good.record["status"] == "delivered")
                    #expect(try good.record["reply"] == "204")
                    for _ in 0..<6 {
                        try await errand("webhook", "test", ids[1])
                            .expect(1, "the event was not accepted: the endpoint answered 500")
                    }
                    try await errand("webhook", "test", ids[2]).expect(1, "answered 410")
                    try await errand("webhook", "test", ids[2])
                        .expect(4, "is disabled", "'errand webhook enable \(ids[2])'")
                    // What failed were tests; now an event does.
                    let tested = try await errand("webhook", "ls", "--failing", "-ojson")
                    #expect(try tested.records.map { $0["state"] } == ["disabled"])
                    _ = try await number(
                        "SELECT notification.emit('other', 'app:survey', '{}', 'event:1')")
                    try await eventually("the endpoint fails") {
                        try await number(
                            """
                            SELECT count(*) FROM notification.endpoints
                            WHERE failing_since IS NOT NULL AND disabled_at IS NULL
                            """) == 1
                    }
                    let failing = try await errand("webhook", "ls", "--failing", "-ojson")
                    #expect(try failing.records.map { $0["state"] } == ["failing", "disabled"])
                    let doctor = try await errand("doctor", "-ojson", environment: keys)
                    let found = try doctor.records.first { $0["check"] == "webhooks" }
                    #expect(found?["severity"] == "note")
                    #expect(found?["remedy"] == "errand webhook ls --failing")
                    // A test is never tried again, and no dead letter.
                    #expect(try await number("SELECT count(*) FROM errand.dead_jobs") == 0)
                    worker.signal(SIGTERM)
                    try await finish(worker).expect(0)
                }
            }
        }

        @Test func `a worker without keys says so, and the doctor names the remedy`()
            async throws
        {
            try await withKeys { keys in
                _ = try await add(environment: keys)
                let run = try await errand("work", "--queues", "webhooks", "--drain")
                run.expect(0, "this worker sends no webhooks: ERRAND_KEYS_FILE is not set")
                let doctor = try await errand("doctor", "-ojson")
                doctor.expect(11)
                let records = try doctor.records
                let found = records.first { $0["check"] == "webhooks" }
                #expect(found?["severity"] == "warning")
                let remedy = "errand work --queues webhooks  # with ERRAND_KEYS_FILE set"
                #expect(found?["remedy"] == .text(remedy))
                let missing = records.first { $0["check"] == "keys" }
                #expect(missing?["severity"] == "critical")
                #expect(missing?["message"].text?.contains("a missing key: k1") == true)
                let fine = try await errand("doctor", "-ojson", environment: keys)
                let grades = try fine.records.filter { ["keys", "webhooks"].contains($0["check"]) }
                #expect(grades.map { $0["severity"] } == ["ok", "ok"])
            }
        }
    }
}
