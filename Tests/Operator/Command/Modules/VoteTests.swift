import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand vote") struct VoteTests {
        /// The receipt of who chose the first option with 32 bytes of 171 as their nonce.
        private static let receipt = "v1.1.1.q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s"

        /// A vote that three have cast at, two of them under one name; workers with keys.
        private func ground(_ body: ([String: String]) async throws -> Void) async throws {
            let keys = try KeyRing([KeyRing.line("mine", 7)])
            defer { keys.remove() }
            try await change(
                """
                INSERT INTO people.people (id) SELECT n FROM generate_series(40, 44) n;
                SELECT errand.enqueue('votes.keys')
                """)
            try await errand(
                "work", "--queues", "votes", "--drain", environment: keys.environment
            ).expect(0)
            try await change(
                """
                SELECT votes.open('Who leads?', '{Ann,Bob}', 40, now() + interval '1 hour',
                    initiator_name => 'Ms. Roy');
                SELECT votes.join(1, 41, 'Zoë Roy', 'Door 1');
                SELECT votes.join(1, 42, 'ZOE  ROY', 'Door 2');
                SELECT votes.join(1, 43, 'Max');
                SELECT votes.cast(1, 41, '{1}', nonce => decode(repeat('ab', 32), 'hex'));
                SELECT votes.cast(1, 42, '{2}'); SELECT votes.cast(1, 43, '{2}')
                """)
            try await body(keys.environment)
        }

        private func work(_ environment: [String: String]) async throws {
            try await errand("work", "--queues", "votes", "--drain", environment: environment)
                .expect(0)
        }

        @Test func `the doctor tells of votes that wait, and of keys that are missing`()
            async throws
        {
            try await ground { environment in
                func finding(_ text: String) async throws -> JSON? {
                    let doctor = try await errand("doctor", "-ojson", environment: environment)
                    return try doctor.records.first {
                        $0["check"] == "votes" && $0["message"].text?.contains(text) == true
                    }
                }
                #expect(try await finding("1 votes, none is late")?["severity"] == "ok")
                try await errand("vote", "close", "1", "--yes").expect(0)
                try await work(environment)
                #expect(try await finding("in review of equal names: 1")?["severity"] == "note")
                try await change(
                    "UPDATE votes.votes SET review_until = now() - interval '10 minutes'")
                let late = try await finding("in review after the time limit: 1")
                #expect(late?["severity"] == "warning")
                try await change("DELETE FROM votes.open_keys")
                #expect(try await finding("nobody can cast: 1")?["severity"] == "critical")
                #expect(try await finding("0 of 1000 keys are ready")?["severity"] == "critical")
            }
        }

        @Test func `a vote is closed, decided about and published, and a receipt is verified`()
            async throws
        {
            try await ground { environment in
                try await errand("vote", "show", "9").expect(3, "there is no vote 9")
                let open = try await errand("vote", "show", "1", "-ojson")
                #expect(try open.record["state"] == "open")
                #expect(try open.record["participants"].number == 3)
                #expect(try open.record["initiator_name"] == "Ms. Roy")
                #expect(try open.record["asks_address"] == false)
                #expect(try open.record["cast"].number == nil)
                try await errand("vote", "verify", "--receipt", Self.receipt)
                    .expect(3, "the result of vote 1 is not published")
                try await errand("vote", "publish", "1").expect(4, "vote 1 is open")
                try await errand("vote", "close", "1").expect(5, "not confirmed")
                try await errand("vote", "close", "1", "--yes").shows("closed for", "by_hand")
                try await errand("vote", "close", "1", "--yes").expect(4, "vote 1 is review")
                try await work(environment)
                let entries = try await errand("vote", "exceptions", "1", "-ojson").records
                #expect(entries.map { $0["name"].text } == ["Zoë Roy", "ZOE  ROY"])
                #expect(entries.map { $0["address"].text } == ["Door 1", "Door 2"])
                let resolve = ["vote", "resolve", "1", "--name", "zoe roy", "--yes"]
                try await errand(resolve + ["--reject", "43"])
                    .expect(2, "people with that name who have cast")
                try await errand(resolve + ["--reject", "42", "--reason", "twice"])
                    .shows("open exceptions", "0")
                try await errand(resolve).expect(4, "is decided: it is rejected")
                try await work(environment)
                let shown = try await errand("vote", "show", "1", "-ojson").record
                #expect(shown["state"] == "published" && shown["ballots"].number == 2)
                #expect(shown["cast"].number == 3)
                #expect(shown["root"].text?.count == 64)
                let verified = try await errand(
                    "vote", "verify", "--receipt", Self.receipt, "-ojson")
                verified.expect(0)
                #expect(try verified.record["is_included"] == true)
                #expect(try verified.record["root"] == shown["root"])
                try await errand(
                    "vote", "verify", "--receipt", Self.receipt.replacing("1.1.q", with: "1.2.q")
                ).expect(5, "does not include that ballot")
                try await errand("vote", "verify", "--receipt", "v1.1")
                    .expect(2, "the receipt is invalid")
                // Not in the list of processes.
                try await errand(["vote", "verify", "--receipt", "-"], input: Self.receipt + "\n")
                    .shows("is included", "yes")
                try await errand("vote", "erase", "41", "--yes").shows("votes", "1")
                let left = try await errand("vote", "exceptions", "1", "-ojson").records
                #expect(left.map { $0["name"].text } == ["ZOE  ROY"])
                let listed = try await errand("vote", "ls", "--state", "published", "-ojson")
                #expect(try listed.records.map { $0["id"].id } == ["1"])
                try await errand("vote", "ls", "--initiator", "41").expect(0, "no votes match")
                let audit = try await errand("audit", "ls", "-ojson").records
                #expect(
                    Set(audit.compactMap { $0["action"].text }).isSuperset(
                        of: ["vote close", "vote resolve", "vote erase"]))
            }
        }

        @Test func `a count that waits is asked for again, with a line of the audit`() async throws
        {
            try await ground { environment in
                try await change("UPDATE votes.participants SET name_key = person_id::text")
                try await errand("vote", "close", "1", "--yes").shows("state", "closed")
                try await change("DELETE FROM errand.jobs WHERE kind = 'votes.count'")
                try await work(environment)
                try await errand("vote", "publish", "1", "--reason", "was lost")
                    .shows("state", "closed")
                try await work(environment)
                try await errand("vote", "show", "1").shows("state", "published")
                let audit = try await errand("audit", "ls", "-ojson").records
                #expect(
                    audit.contains {
                        $0["action"] == "vote publish" && $0["reason"] == "was lost"
                    })
            }
        }

        @Test func `a review can be ended before its time, and the result says so`() async throws {
            try await ground { environment in
                try await errand("vote", "close", "1", "--yes").expect(0)
                try await errand("vote", "publish", "1", "--yes").expect(0)
                try await work(environment)
                let shown = try await errand("vote", "show", "1", "-ojson").record
                #expect(shown["state"] == "published" && shown["has_unresolved"] == true)
                try await errand("vote", "publish", "1", "--yes").expect(4, "vote 1 is published")
            }
        }
    }
}
