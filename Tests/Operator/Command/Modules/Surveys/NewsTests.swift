import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand news") struct NewsTests {
        private static let terms = [
            "--kind", "company.terms", "--version", "2026-12", "--to", "all", "--headline",
            "New terms", "--summary", "From January.", "--body", "All of them.",
        ]
        private static let news = [
            "--kind", "company.news", "--to", "app:survey", "--headline", "Two cities more",
            "--summary", "Halifax and Laval.", "--body", "@-",
        ]

        private func fill() async throws {
            try await change(
                """
                INSERT INTO people.people (id, email, created_at, quiet_from, quiet_until)
                SELECT n, 'p' || n || '@example.org', now() - interval '1 day', NULL, NULL
                FROM generate_series(41, 45) n;
                UPDATE people.people SET blocked_at = now() WHERE id = 45;
                INSERT INTO notification.devices (person_id, app, platform, environment, topic,
                    token)
                VALUES (42, 'survey', 'apns', 'production', 'x.y', repeat('a', 64))
                """)
        }

        private func work() async throws {
            try await errand("work", "--queues", "news", "--drain").expect(0)
        }

        @Test func `a dry run counts the people and renders the notice, and writes nothing`()
            async throws
        {
            try await fill()
            let terms = try await errand(["news", "send", "--dry-run", "-ojson"] + Self.terms)
            terms.expect(0)
            #expect(try terms.record["people"] == 5)
            let samples = try terms.record["samples"].elements
            #expect(samples.map { $0["channel"] } == ["email", "inbox"])
            #expect(samples.allSatisfy { $0["title"] == "New terms" })
            #expect(samples[0]["text"].text?.contains("2026-12") == true)
            let news = try await errand(
                ["news", "send", "--dry-run", "-ojson"] + Self.news, input: "We are in two more.")
            news.expect(0)
            #expect(try news.record["people"] == 1)
            let texts = try news.record["samples"].elements
            #expect(texts.map { $0["channel"] } == ["push", "email", "inbox"])
            #expect(texts[0]["text"] == "Halifax and Laval.")
            #expect(texts[1]["text"].text?.contains("We are in two more.") == true)
            #expect(try await number("SELECT count(*) FROM news.sendings") == 0)
        }

        @Test func `a draft is sent once, and its progress is shown`() async throws {
            try await fill()
            let drafted = try await errand(["news", "draft", "-ojson"] + Self.terms)
            drafted.expect(0)
            #expect(try drafted.record["state"] == "draft")
            let id = try drafted.record["id"].id
            try await errand("news", "send", id).expect(5, "not confirmed")
            try await errand("news", "send", id, "--dry-run").shows("people", "5")
            try await errand("news", "send", id, "--yes").expect(0, "errand news show \(id)")
            try await errand("news", "send", id, "--yes").expect(4, "sending \(id) is running")
            try await work()
            let shown = try await errand("news", "show", id, "-ojson").record
            #expect(shown["state"] == "done" && shown["people"] == 5 && shown["left"] == 0)
            #expect(shown["notified"] == 4 && shown["skipped"] == 1)
            #expect(shown["body"] == "All of them.")
            try await errand("news", "send", id, "--yes").expect(4, "sending \(id) is done")
            try await errand(["news", "send", "--yes"] + Self.terms)
                .expect(4, "sending \(id) of the last 7 days has the same text")
            #expect(try await number("SELECT count(*) FROM news.sendings") == 1)
            #expect(
                try await number(
                    "SELECT count(*) FROM notification.notices WHERE kind = 'company.terms'") == 4)
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(
                audit.compactMap { $0["action"].text }.filter { $0.hasPrefix("news") }.sorted()
                    == ["news draft", "news send"])
        }

        @Test func `it is paused, resumed and cancelled, each from its state`() async throws {
            try await fill()
            try await errand(["news", "send", "--yes"] + Self.terms).expect(0)
            try await errand("news", "pause", "1").shows("state", "paused")
            try await errand("news", "pause", "1").expect(4, "sending 1 is paused")
            try await work()
            #expect(try await number("SELECT count(*) FROM notification.notices") == 0)
            try await errand("news", "resume", "1").shows("state", "running")
            try await errand("news", "resume", "1").expect(4, "sending 1 is running")
            let running = try await errand("news", "ls", "--state", "running", "-ojson")
            #expect(try running.record["headline"] == "New terms")
            try await errand("news", "cancel", "1").expect(5, "not confirmed")
            try await errand("news", "cancel", "1", "--yes").shows("state", "cancelled")
            try await work()
            #expect(try await number("SELECT count(*) FROM notification.notices") == 0)
            for verb in ["send", "pause", "resume", "cancel"] {
                try await errand("news", verb, "1", "--yes").expect(4, "sending 1 is cancelled")
                try await errand("news", verb, "99", "--yes").expect(3, "no sending 99")
            }
            try await errand("news", "ls", "--state", "done").expect(0, "no sendings match")
        }

        @Test func `a file lists the people`() async throws {
            try await fill()
            let file = FileManager.default.temporaryDirectory
                .appending(path: "people-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            var words = Self.terms
            words[5] = "@\(file)"
            try Data("41\n\n43\n41\n".utf8).write(to: URL(filePath: file))
            try await errand(["news", "send", "--dry-run", "-ojson"] + words).expect(0)
            try await errand(["news", "send", "--yes"] + words).shows("people", "2")
            try await work()
            #expect(
                try await number(
                    "SELECT sum(person_id)::bigint FROM notification.notices")
                    == 84)
            try Data("41\nann\n".utf8).write(to: URL(filePath: file))
            try await errand(["news", "draft"] + words).expect(2, "line 2: expected a person's id")
            try Data("41\n77\n".utf8).write(to: URL(filePath: file))
            for verb in [["draft"], ["send", "--dry-run"], ["send", "--yes"]] {
                try await errand(["news"] + verb + words).expect(2, "no person has the id 77")
            }
        }

        @Test func `what is missing or wrong is said`() async throws {
            try await errand("news", "draft", "--kind", "company.news")
                .expect(2, "a new sending needs --kind, --to")
            var words = Self.terms
            words.removeSubrange(2..<4)
            try await errand(["news", "draft"] + words).expect(2, "company.terms needs --version")
            words = Self.terms
            words[5] = "everybody"
            try await errand(["news", "draft"] + words)
                .expect(2, "expected all, app:NAME or @FILE")
            words[5] = "app:nobodys"
            for verb in [["draft"], ["send", "--dry-run"]] {
                try await errand(["news"] + verb + words).expect(2, "no module has this app")
            }
            words = Self.terms
            words[11] = " "
            try await errand(["news", "send", "--dry-run"] + words)
                .expect(2, "body: expected 1 to 20,000 characters")
            try await errand(["news", "send", "3"] + Self.terms).expect(2, "not both")
        }

        @Test func `the doctor names a sending that is stuck`() async throws {
            try await fill()
            try await errand(["news", "send", "--yes"] + Self.terms).expect(0)
            try await change(
                "UPDATE news.sendings SET state_since = now() - interval '11 minutes'")
            let stuck = try await errand("doctor", "-ojson").records.filter {
                $0["check"] == "news"
            }
            #expect(stuck.count == 1)
            #expect(
                stuck.first?["message"].text?.contains("notified nobody for 10 minutes") == true)
            try await errand("news", "pause", "1").expect(0)
            try await change("UPDATE news.sendings SET state_since = now() - interval '2 days'")
            let paused = try await errand("doctor", "-ojson").records.filter {
                $0["check"] == "news"
            }
            #expect(paused.first?["message"].text?.contains("paused over a day ago") == true)
        }
    }
}
