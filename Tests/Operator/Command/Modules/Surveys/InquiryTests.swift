import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand inquiry") struct InquiryTests {
        private func fill() async throws {
            try await change(
                """
                INSERT INTO people.people (id, birth_date) VALUES (41, '1990-05-17'),
                    (42, '1990-05-17');
                SELECT inquiries.ask(41, 'When are rewards paid?', NULL, '1');
                SELECT inquiries.ask(42, 'Where is it?', NULL, '1');
                SELECT inquiries.ask(42, 'And why?', NULL, '2')
                """)
        }

        @Test func `those who wait are listed, the longest first, and shown`() async throws {
            try await errand("inquiry", "ls", "--waiting").expect(0, "nobody waits for an answer")
            try await fill()
            let waiting = try await errand("inquiry", "ls", "--waiting", "-ojson").records
            #expect(waiting.map { $0["id"].id } == ["1", "2", "3"])
            #expect(waiting.allSatisfy { $0["state"] == "waiting" && $0["is_late"] == false })
            let page = try await errand(
                "inquiry", "ls", "--waiting", "--limit", "1", "--cursor", "1", "-ojson")
            #expect(try page.record["id"].id == "2")
            try await errand("inquiry", "answer", "1", "--text", "Yes.").expect(0)
            let rest = try await errand(
                "inquiry", "ls", "--waiting", "--limit", "1", "--cursor", "2", "-ojson")
            #expect(try rest.record["id"].id == "3")
            #expect(try rest.record["waiting_from"].id == "3")
            let own = try await errand("inquiry", "ls", "--person", "42", "-ojson").records
            #expect(own.map { $0["id"].id } == ["3", "2"])
            let shown = try await errand("inquiry", "show", "1", "-ojson").record
            #expect(shown["person"].id == "41")
            #expect(
                shown["messages"].elements.map { $0["text"] }
                    == ["When are rewards paid?", "Yes."])
            try await errand("inquiry", "show", "99").expect(3, "no thread 99")
        }

        @Test func `an answer is read from --text or standard input`() async throws {
            try await fill()
            try await errand("inquiry", "answer", "1", "--text", "On Mondays.", "--yes").expect(0)
            try await errand(["inquiry", "answer", "2", "--yes"], input: "  North\n\nentrance \n")
                .expect(0)
            let shown = try await errand("inquiry", "show", "2", "-ojson").record
            #expect(shown["state"] == "answered")
            #expect(
                shown["messages"].elements.map { $0["text"] }
                    == ["Where is it?", "North\n\nentrance"])
            #expect(shown["messages"].elements[0]["by"] == "person")
            #expect(shown["messages"].elements[1]["by"] != "person")
            let left = try await errand("inquiry", "ls", "--waiting", "-ojson").records
            #expect(left.map { $0["id"].id } == ["3"])
            #expect(
                try await number(
                    "SELECT count(*) FROM notification.notices WHERE kind = 'inquiry.answered'")
                    == 2)
            // The command may be repeated.
            try await errand("inquiry", "answer", "1", "--text", "On Mondays.", "--yes").expect(0)
            let own = ["inquiry", "answer", "1", "--request-id", "m-1", "--text"]
            for _ in 1...2 { try await errand(own + ["At noon."]).expect(0) }
            try await errand(own + ["At one."]).expect(4, "--request-id of its own")
            #expect(
                try await errand("inquiry", "show", "1", "-ojson").record["messages"].elements.count
                    == 3)
            try await errand(["inquiry", "answer", "3", "--yes"], input: "\n")
                .expect(2, "the answer has 0 characters")
            try await errand("inquiry", "answer", "99", "--text", "x", "--yes")
                .expect(3, "no thread 99")
            let audit = try await errand("audit", "ls", "-ojson")
            let lines = try audit.records.filter { $0["action"] == "inquiry answer" }
            #expect(
                lines.map { $0["subject"].text }.sorted { ($0 ?? "") < ($1 ?? "") }
                    == ["thread 1", "thread 1", "thread 1", "thread 1", "thread 2"])
            #expect(!audit.output.contains("Mondays") && !audit.output.contains("entrance"))
        }

        @Test func `a thread is closed, after a question if its person waits`() async throws {
            try await fill()
            try await errand("inquiry", "close", "1").expect(5, "not confirmed")
            try await errand("inquiry", "close", "1", "--yes", "--reason", "spam")
                .shows("state", "unanswered")
            try await errand("inquiry", "close", "1", "--yes").expect(0, "already closed")
            try await errand("inquiry", "answer", "2", "--text", "North.", "--yes").expect(0)
            try await errand("inquiry", "close", "2", "--yes").shows("state", "closed")
            try await errand("inquiry", "close", "99", "--yes").expect(3, "no thread 99")
        }

        @Test func `who is to be erased gets no answer`() async throws {
            try await fill()
            try await change("UPDATE people.people SET blocked_at = now() WHERE id = 41")
            try await errand("inquiry", "answer", "1", "--text", "x", "--yes")
                .expect(5, "blocked until their erasure")
        }

        @Test func `the doctor counts who waits too long`() async throws {
            try await fill()
            try await change(
                "UPDATE inquiries.messages SET alert_at = now() - interval '1 hour' WHERE id = 1")
            func messages() async throws -> [String] {
                try await errand("doctor", "-ojson").records
                    .filter { $0["check"] == "inquiries" }.compactMap { $0["message"].text }
            }
            #expect(
                try await messages() == [
                    "people who wait too long for an answer: 1",
                    "of these, threads of which nobody was alerted, as no endpoint of the owner "
                        + "operator takes inquiry.waiting: 1",
                ])
            try await change("SELECT inquiries.alert()")
            #expect(try await messages().count == 2)
            try await change(
                """
                INSERT INTO notification.endpoints (owner, url, secret, events)
                VALUES ('operator', 'https://example.org/hook', '\\x00', '{*}')
                """)
            #expect(
                try await messages().last
                    == "of these, threads of which nobody was alerted, as no worker sweeps them: 1")
            try await change("SELECT inquiries.alert()")
            #expect(try await messages() == ["people who wait too long for an answer: 1"])
            try await errand("inquiry", "close", "1", "--yes").expect(0)
            #expect(
                try await messages() == [
                    "threads that were closed without an answer in the last 7 days: 1"
                ])
        }
    }
}
