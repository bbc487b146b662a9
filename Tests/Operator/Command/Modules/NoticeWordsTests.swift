import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand notification: what people would be told") struct NoticeWordsTests {
        private static let bare = ["DATABASE_URL": "", "REDIS_URL": ""]

        @Test func `kinds lists all that is declared, without a server`() async throws {
            let run = try await errand("notification", "kinds", "-ojson", environment: Self.bare)
            run.expect(0)
            let kinds = try run.records
            let nearby = try #require(kinds.first { $0["kind"] == "coupon.nearby" })
            #expect(nearby["channels"] == ["push", "email"] && nearby["cooldown"] == 86_400)
            #expect(nearby["urgency"] == "promotional" && nearby["needs_location"] == true)
            #expect(nearby["facts"].elements.contains("distance:metres"))
            #expect(kinds.contains { $0["kind"] == "mission.offered.digest" })
            #expect(kinds.first { $0["kind"] == "company.news" }?["timing"] == "own time")
            let table = try await errand("notification", "kinds", environment: Self.bare)
            #expect(table.lines[0].hasPrefix("KIND"))
            #expect(table.lines[1].hasPrefix("account.code"))
        }

        @Test func `every kind can be previewed with samples`() async throws {
            let kinds = try await errand("notification", "kinds", "-oname", environment: Self.bare)
            for kind in kinds.lines where !kind.isEmpty {
                let run = try await errand(
                    "notification", "preview", String(kind), "-ojson", environment: Self.bare)
                run.expect(0)
                let ways = try run.records
                #expect(!ways.isEmpty)
                for way in ways {
                    #expect(way["title"].text?.isEmpty == false, "\(kind)")
                    #expect(way["text"].text?.isEmpty == false, "\(kind)")
                    #expect((way["payload"] != .null) == (way["channel"] == "push"), "\(kind)")
                }
            }
        }

        @Test func `a preview has the words of the data, in the zone asked for`() async throws {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "preview-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let page = folder.appending(path: "mail.html").path
            let facts = folder.appending(path: "facts.json").path
            let data = """
                {"title": "Tea & cake", "branch": "Main St", "pay": {"minor": 500, "currency":
                "CAD"}, "starts_at": "2026-07-01T10:00:00Z", "ends_at": "2026-07-01T12:00:00Z",
                "answer_by": "2026-06-30T12:00:00Z"}
                """
            try data.write(toFile: facts, atomically: true, encoding: .utf8)
            let run = try await errand(
                "notification", "preview", "mission.offered", "--data", "@\(facts)", "--html", page,
                "--zone", "Europe/Berlin", "-ojson", environment: Self.bare)
            run.expect(0)
            let ways = try run.records
            #expect(ways.map { $0["channel"] } == ["push", "email", "inbox"])
            #expect(run.output.contains("Tea & cake"))
            #expect(run.output.contains("12:00"))
            #expect(ways[0]["payload"]["aps"]["alert"]["title"] == ways[0]["title"])
            #expect(ways[0]["payload"]["branch"] == "Main St")
            #expect(ways[0]["payload_bytes"].number ?? 0 > 100)
            #expect(ways[1]["file"].text == page)
            let html = try String(contentsOfFile: page, encoding: .utf8)
            #expect(html.contains("Tea &amp; cake"))
            let card = try await errand(
                "notification", "preview", "mission.offered", "--channel", "push", "--data", data,
                environment: Self.bare)
            card.expect(0)
            #expect(card.output.contains("payload") && !card.output.contains("email"))
        }

        @Test func `what is wrong with a preview is named`() async throws {
            let words = ["notification", "preview"]
            for (more, code, message) in [
                (["coupon.nearbye"], 3, "did you mean coupon.nearby?"),
                ([], 2, "needs KIND"),
                (["payout.returned", "--data", "{}"], 2, "have no \"amount\""),
                (
                    ["payout.returned", "--data", #"{"amount": 3, "reason": "x"}"#], 2,
                    "\"amount\" in the data of payout.returned: expected an amount"
                ),
                (["payout.returned", "--data", "[1]"], 2, "are not a JSON object"),
                (["payout.returned", "--data", "@/dev/null/x"], 3, "/dev/null/x"),
                (["payout.returned", "--channel", "fax"], 2, "expected push, email or inbox"),
                (["mission.waiting", "--channel", "email"], 2, "is not sent by email"),
                (["mission.waiting", "--html", "x.html"], 2, "--html requires the channel email"),
                (["mission.waiting", "--zone", "Mars/Base"], 2, "--zone: "),
                (["company.news", "--html", "/dev/null/x"], 1, "cannot write /dev/null/x"),
            ] {
                let run = try await errand(words + more, environment: Self.bare)
                run.expect(Int32(code), message)
                #expect(run.output.isEmpty)
            }
            let own = ["ERRAND_NOTICES": "/dev/null/x", "DATABASE_URL": ""]
            try await errand("notification", "kinds", environment: own)
                .expect(2, "the notice templates are invalid", "ERRAND_NOTICES")
        }

        @Test func `why says what would happen, by which ways, and why not`() async throws {
            try await change(
                """
                INSERT INTO people.people (email, birth_date, age_verified_at, time_zone)
                VALUES ('kim@example.org', '1990-05-01', now(), 'Europe/Berlin'),
                    (NULL, '2020-05-01', now(), 'UTC');
                INSERT INTO notification.preferences VALUES (1, 'payout.returned', 'inbox', false)
                """)
            func why(_ words: String...) async throws -> JSON {
                let run = try await errand(["notification", "why", "-ojson"] + words)
                run.expect(0)
                return try run.record
            }
            let asked = ["--person", "1", "--kind", "payout.returned"]
            let day = try await why(
                asked[0], asked[1], asked[2], asked[3], "--at", "2026-11-20T12:00:00Z")
            #expect(day["decision"] == "send" && day["zone"] == "Europe/Berlin")
            let ways = day["channels"].elements
            #expect(ways.map { $0["channel"] } == ["push", "email", "inbox"])
            #expect(ways.map { $0["is_open"] } == [false, true, false])
            #expect(ways[0]["explanation"] == "no device of the app takes pushes")
            #expect(ways[2]["explanation"] == "the person has switched it off")
            let night = try await why(
                asked[0], asked[1], asked[2], asked[3], "--at", "2026-11-20T23:00:00Z")
            #expect(night["decision"] == "hold")
            #expect(night["hold_until"] == "2026-11-21T06:00:00.000000Z")
            #expect(night["explanation"].text?.hasPrefix("quiet hours until") == true)
            let child = try await why("--person", "2", "--kind", "payout.returned")
            #expect(child["decision"] == "drop" && child["explanation"] == "the person is under 16")
            let card = try await errand(["notification", "why"] + asked)
            card.expect(0)
            #expect(card.output.contains("decision") && card.output.contains("email"))
            #expect(!card.output.contains("kim@"))
            #expect(try await number("SELECT count(*) FROM notification.notices") == 0)
            let all = ["notification", "why"]
            try await errand(all + ["--person", "9", "--kind", "company.news"])
                .expect(3, "there is no person 9")
            try await errand(all + ["--person", "1", "--kind", "company.new"])
                .expect(3, "did you mean company.news?")
            try await errand(all + ["--person", "1"]).expect(2, "--kind KIND is required")
            try await errand(all + asked + ["--at", "noon"]).expect(2, "--at noon")
        }

        // "A kind that no program has any more stays in `preferences_of` and `intend` accepts it".
        @Test func `the doctor names kinds that nobody has declared for 30 days`() async throws {
            func findings() async throws -> [JSON] {
                try await errand("doctor", "-ojson").records.filter { $0["check"] == "notices" }
            }
            #expect(try await findings().isEmpty)
            try await change(
                """
                UPDATE notification.kinds SET declared_at = now() - interval '31 days'
                WHERE kind IN ('account.code', 'company.news')
                """)
            let found = try await findings()
            #expect(found.map { $0["severity"] } == ["note"])
            #expect(
                found.first?["message"].text
                    == "no program has declared 2 kinds of notice for 30 days: "
                    + "account.code, company.news")
        }
    }
}
