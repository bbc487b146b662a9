import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand notification: what people were told") struct NotificationTests {
        private static let address = "kim@example.org"
        private static let token = "token-of-a-phone-wxyz"

        /// A person with an address and a phone, and one of whom nothing is known but the age.
        private func people() async throws {
            try await change(
                """
                INSERT INTO people.people (email, birth_date, age_verified_at, time_zone,
                    quiet_from, quiet_until)
                VALUES ('\(Self.address)', '1990-05-01', now(), 'Europe/Berlin', NULL, NULL),
                    (NULL, '1990-05-01', now(), 'UTC', NULL, NULL);
                SELECT notification.register_device(1, 'survey', 'fcm', '\(Self.token)');
                """)
        }

        private func intend(_ key: String, to person: Int) async throws -> String {
            let id = try await number(
                """
                SELECT notification.intend('payout.returned', \(person), 'payout:1',
                    '{"amount": {"minor": 777, "currency": "CAD"}, "reason": "closed account"}',
                    '\(key)', '2099-01-01Z')
                """)
            return String(id)
        }

        private func decide() async throws {
            try await eventually("all notices to be decided") {
                try await errand("work", "--drain", "--queues", "notices").expect(0)
                let sql = "SELECT count(*) FROM notification.notices WHERE status = 'intended'"
                return try await number(sql) == 0
            }
        }

        /// Two notices by all ways and one by the inbox; the first of them was delivered in part.
        private func ground() async throws -> [String] {
            try await people()
            var ids: [String] = []
            for (key, person) in [("a", 1), ("b", 1), ("c", 2)] {
                ids.append(try await intend(key, to: person))
            }
            try await decide()
            try await change(
                """
                UPDATE notification.deliveries
                SET status = 'gone', attempts = 2, reply = '404 UNREGISTERED', answered_at = now()
                WHERE notice_id = \(ids[0]) AND provider = 'fcm'
                """)
            return ids
        }

        @Test func `ls has the newest first, by filter and page`() async throws {
            try await errand("notification", "ls").expect(0, "no notices match")
            let ids = try await ground()
            func listed(_ words: String...) async throws -> [String] {
                let run = try await errand(["notification", "ls", "-ojson"] + words)
                run.expect(0)
                return try run.records.map { $0["id"].id }
            }
            #expect(try await listed() == ids.reversed())
            #expect(try await listed("--person", "1") == [ids[1], ids[0]])
            #expect(try await listed("--status", "sent,failed") == [ids[2]])
            #expect(try await listed("--kind", "company.news") == [])
            #expect(try await listed("--kind", "payout.returned", "--limit", "1") == [ids[2]])
            #expect(try await listed("--cursor", ids[1]) == [ids[0]])
            #expect(try await listed("--person", "1", "--cursor", ids[1]) == [ids[0]])
            try await change(
                """
                UPDATE notification.notices SET created_at = now() - interval '3 days'
                WHERE id = \(ids[0])
                """)
            #expect(try await listed("--older", "1d") == [ids[0]])
            #expect(try await listed("--newer", "1d") == [ids[2], ids[1]])
            #expect(try await listed("--person", "1", "--newer", "1d") == [ids[1]])
            let page = try await errand("notification", "ls", "--limit", "2")
            page.expect(0, "more: errand notification ls --limit 2 --cursor \(ids[1])")
            #expect(page.lines[0].contains("PERSON"))
            #expect(page.lines[1].contains("payout.returned  payout:1  sent"))
            for words in [["--status", "lost"], ["--person", "kim"], ["--newer", "soon"]] {
                try await errand(["notification", "ls"] + words).expect(2, words[0])
            }
        }

        @Test func `a listing that finds little says how far it looked`() async throws {
            try await people()
            try await change(
                """
                INSERT INTO notification.notices (person_id, kind, subject, dedupe_key, expires_at,
                    status, created_at)
                SELECT 1, CASE WHEN n = 1 THEN 'first.of.all' ELSE 'other' END, 's', n, 'infinity',
                    'sent', now() - interval '1 day' + make_interval(secs => n * 0.5)
                FROM generate_series(1, 20001) AS n
                """)
            let words = ["notification", "ls", "--kind", "first.of.all"]
            let run = try await errand(words)
            run.expect(0, "no match so far", "stopped early, at id 2;")
            run.expect(0, "continue: errand notification ls --kind first.of.all --cursor 2")
            let next = try await errand(words + ["--cursor", "2", "-oname"])
            next.expect(0)
            #expect(next.output == "1\n")
            #expect(try await errand(words + ["--older", "23h", "-oname"]).output == "1\n")
            #expect(try await errand(words + ["--person", "1", "-oname"]).output == "1\n")
            // What few have is found at once, also among others that few have.
            try await change("UPDATE notification.notices SET status = 'failed' WHERE id = 1")
            let failed = ["notification", "ls", "--status", "failed,held"]
            let found = try await errand(failed + ["--kind", "first.of.all"])
            found.expect(0)
            #expect(!found.errors.contains("stopped early"))
            #expect(try await errand(failed + ["-oname"]).output == "1\n")
            try await change("UPDATE notification.notices SET status = 'failed'")
            try await errand(words + ["--status", "failed", "--cursor", "5002"])
                .expect(0, "no match so far", "stopped early, at id 2;")
            #expect(
                try await errand(words + ["--status", "failed", "--cursor", "2", "-oname"]).output
                    == "1\n")
        }

        @Test func `show hides what is personal unless it is revealed, and records that`()
            async throws
        {
            let ids = try await ground()
            let shown = try await made("notification", "show", ids[0])
            #expect(shown["status"] == "pending" && shown["person"] == 1)
            #expect(shown["data"] == "[redacted]" && shown["email"] == "[redacted]")
            for words in [
                ["show", ids[0]], ["trace", ids[0]], ["ls", "-owide"],
                ["devices", "--person", "1"],
                ["why", "--person", "1", "--kind", "company.news"],
            ] {
                for more in [[], ["-ojson"]] where !words.contains("-owide") || more.isEmpty {
                    let run = try await errand(["notification"] + words + more)
                    run.expect(0)
                    for secret in ["example.org", "closed account", "minor", "a-phone"] {
                        #expect(!run.output.contains(secret), "\(words)")
                    }
                }
            }
            let all = try await made(
                "notification", "show", ids[0], "--reveal", "--reason", "ticket 8")
            #expect(all["data"]["reason"] == "closed account")
            #expect(all["email"].text == Self.address)
            let line = try await made("audit", "ls", "--limit", "1")
            #expect(line["action"] == "notification show --reveal")
            #expect(line["subject"].text == "notice \(ids[0])")
            #expect(line["reason"] == "ticket 8" && line["operator"] == "tester")
            try await change(
                "ALTER TABLE errand.audit ADD CHECK (action NOT LIKE '%reveal') NOT VALID")
            let refused = try await errand("notification", "show", ids[1], "--reveal")
            #expect(refused.code == 1 && refused.output.isEmpty)
            try await errand("notification", "show", "999").expect(3, "there is no notice 999")
            try await errand("notification", "show", "x").expect(2, "ID 'x'")
            try await errand("notification", "show", ids[0], "--reason", "x")
                .expect(2, "--reason requires --reveal")
        }

        @Test func `trace shows every step to the provider's answer`() async throws {
            let ids = try await ground()
            let history = try await made("notification", "trace", ids[0])
            #expect(history["dedupe_key"] == "a" && history["decided_by"].number != nil)
            let texts = history["history"].elements.compactMap { $0["text"].text }
            #expect(texts.prefix(2) == ["recorded", "decided to send"])
            #expect(texts.contains("added to the inbox"))
            #expect(texts.contains { $0.hasSuffix("is gone after 2 attempts: 404 UNREGISTERED") })
            #expect(texts.contains { $0.contains("by fcm to device 1 begins") })
            let ways = history["deliveries"].elements
            #expect(Set(ways.map { $0["provider"] }.compactMap(\.text)) == ["fcm", "mail"])
            let push = try #require(ways.first { $0["provider"] == "fcm" })
            #expect(push["device"] == 1 && push["status"] == "gone" && push["attempt"] == 2)
            #expect(push["reply"] == "404 UNREGISTERED")
            let card = try await errand("notification", "trace", ids[2])
            card.expect(0)
            #expect(card.output.contains("history"))
            #expect(card.output.contains("ended as sent"))
            #expect(!card.output.contains("deliveries"))
            try await errand("notification", "trace", "999").expect(3, "there is no notice 999")
            try await errand("notification", "trace").expect(2, "needs ID")
        }

        @Test func `devices are listed without their tokens`() async throws {
            try await people()
            try await errand("notification", "devices", "--person", "2")
                .expect(0, "person 2 has no device")
            try await change(
                """
                UPDATE notification.devices SET disabled_at = now(), disabled_reason = 'BadToken'
                """)
            let device = try await made("notification", "devices", "--person", "1")
            #expect(device["token_end"] == "wxyz" && device["platform"] == "fcm")
            #expect(device["app"] == "survey" && device["disabled_reason"] == "BadToken")
            #expect(device["disabled_at"].text?.hasSuffix("Z") == true)
            let table = try await errand("notification", "devices", "--person", "1")
            #expect(table.lines[0].contains("TOKEN") && table.lines[1].contains("wxyz"))
            try await errand("notification", "devices", "--person", "9")
                .expect(3, "there is no person 9")
            try await errand("notification", "devices").expect(2, "--person ID is required")
        }

        @Test func `what is cancelled reaches nobody, and stands in the audit`() async throws {
            let ids = try await ground()
            let undecided = try await intend("d", to: 1)
            let run = try await errand(
                "notification", "cancel", ids[1], undecided, "--reason", "wrong day", "-ojson")
            run.expect(0)
            #expect(try run.records.map { $0["result"] } == ["withdrawn", "withdrawn"])
            try await decide()
            for id in [ids[1], undecided] {
                let notice = try await made("notification", "show", id)
                #expect(notice["status"] == "withdrawn")
                #expect(notice["reason"] == "withdrawn by an operator: wrong day")
                #expect(notice["ended_at"].text != nil)
            }
            let ways = try await made("notification", "trace", ids[1])["deliveries"].elements
            #expect(ways.count == 2 && ways.allSatisfy { $0["status"] == "withdrawn" })
            let inbox = "SELECT count(*) FROM notification.inbox_items WHERE notice_id = \(ids[1])"
            #expect(try await number(inbox) == 0)
            let audit = try await errand("audit", "ls", "--action", "notification cancel", "-ojson")
            #expect(
                try audit.records.compactMap { $0["subject"].text }
                    == ["notice \(undecided)", "notice \(ids[1])"])
            #expect(
                try audit.records.compactMap { $0["change"]["before"].text } == [
                    "intended", "pending",
                ])
        }

        @Test func `what has reached the person is not taken back`() async throws {
            let ids = try await ground()
            try await change(
                "UPDATE notification.inbox_items SET read_at = now() WHERE notice_id = \(ids[1])")
            let part = try await made("notification", "cancel", ids[1])
            #expect(part["result"] == "partly")
            #expect(try await made("notification", "show", ids[1])["status"] == "sent")
            try await errand("notification", "cancel", ids[2])
                .expect(4, "notice \(ids[2]): it has ended", "errand notification trace")
            try await errand("notification", "cancel", "999").expect(3, "it does not exist")
            let mixed = try await errand("notification", "cancel", ids[0], "999", ids[2])
            mixed.expect(7, "2 of 3 notices were not changed")
            try await errand("notification", "cancel", ids[0], "--read-only").expect(5)
            try await errand("notification", "cancel").expect(2, "needs ID")
        }
    }
}
