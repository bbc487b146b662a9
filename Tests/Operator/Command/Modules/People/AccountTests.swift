import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand account") struct AccountTests {
        private func ground() async throws {
            try await change(
                """
                INSERT INTO people.people (id, email) VALUES (40, 'ann@example.org');
                INSERT INTO accounts.link_templates
                VALUES ('account', 'reset', 'https://app.example.com/reset?token={token}'),
                    ('account', 'invitation', 'https://app.example.com/join?token={token}');
                SELECT accounts.issue_code('Ann@example.org', 'sign_in', 'account', '1');
                SELECT accounts.issue_code('no@example.org', 'sign_in', 'account', '2');
                SELECT accounts.request_reset('ann@example.org', 'account', '3');
                SELECT accounts.invite(40, 'Ann', 'friend@example.org', 'account', '4')
                """)
        }

        private func work() async throws {
            try await errand("work", "--queues", "notices", "--drain").expect(0)
        }

        @Test func `what was requested is listed, and no code or link`() async throws {
            try await ground()
            let waiting = try await errand("account", "codes", "-ojson").records
            #expect(waiting.map { $0["state"].text } == ["waiting", "waiting"])
            try await work()
            let codes = try await errand("account", "codes", "-ojson").records
            #expect(codes.map { $0["state"].text } == ["no_account", "sent"])
            #expect(codes.map { $0["address"].text } == ["no@example.org", "Ann@example.org"])
            let one = try await errand(
                "account", "codes", "--address", "ANN@example.org", "-ojson")
            #expect(try one.record["person"].id == "40")
            #expect(try one.record["wrong_tries"].number == 0)
            #expect(!one.output.contains("mac") && !one.output.contains("salt"))
            try await errand("account", "codes", "--person", "41").expect(0, "no codes match")
            let resets = try await errand("account", "resets", "--person", "40", "-ojson")
            #expect(try resets.record["state"] == "sent")
            #expect(!resets.output.contains("token"))
            let invitations = try await errand("account", "invitations", "-ojson")
            #expect(try invitations.record["inviter"].id == "40")
            #expect(try invitations.record["address"] == "friend@example.org")
            try await errand("account", "resets", "--address", "no@example.org")
                .expect(0, "no reset links match")
        }

        // "Operators see `sent` for what was never sent".
        @Test func `what nobody got is not listed as sent`() async throws {
            try await ground()
            try await change(
                """
                INSERT INTO people.people (id, email, blocked_at)
                VALUES (41, 'gone@example.org', now());
                SELECT accounts.issue_code('gone@example.org', 'verify_address', 'account', '5');
                SELECT accounts.issue_code('new@example.org', 'verify_address', 'account', '6');
                SELECT accounts.invite(40, 'Ann', 'gone@example.org', 'account', '7')
                """)
            try await work()
            // A crash of the server loses the keys.
            try await change(
                """
                SELECT accounts.issue_code('ann@example.org', 'sign_in', 'account', '8');
                TRUNCATE accounts.code_keys
                """)
            try await work()
            let codes = try await errand("account", "codes", "-ojson").records
            #expect(
                codes.map { $0["state"].text }
                    == ["not_sent", "sent", "not_sent", "no_account", "replaced"])
            let invitations = try await errand("account", "invitations", "-ojson").records
            #expect(invitations.map { $0["state"].text } == ["not_sent", "sent"])
        }

        @Test func `a locked address is unlocked, and the audit log does not name it`() async throws
        {
            try await ground()
            try await work()
            try await change(
                """
                SELECT accounts.issue_code('ann@example.org', 'sign_in', 'account', 'n' || n)
                FROM generate_series(1, 5) n;
                SELECT accounts.check_code('ann@example.org', 'sign_in', '000000', 'account', 'c')
                FROM generate_series(1, 5) n
                """)
            let locked = try await errand("account", "codes", "--limit", "1", "-ojson")
            #expect(try locked.record["state"] == "locked")
            #expect(try locked.record["wrong_tries"].number == 5)
            try await errand("account", "unlock", "ann@example.org").expect(5, "not confirmed")
            try await errand(
                "account", "unlock", "ANN@example.org", "--yes", "--reason", "called us"
            ).shows("deleted", "6")
            try await errand("account", "unlock", "no@example.org", "--yes").shows("deleted", "1")
            try await errand("account", "codes").expect(0, "no codes match")
            let audit = try await errand("audit", "ls", "-ojson")
            let lines = try audit.records.filter { $0["action"] == "account unlock" }
            #expect(
                Set(lines.compactMap { $0["subject"].text })
                    == ["person 40", "an address without an account"])
            #expect(!audit.output.lowercased().contains("example.org"))
        }

        @Test func `templates of links are set, listed and removed`() async throws {
            try await errand("account", "templates").expect(0, "no templates")
            let set = ["account", "set-template", "vote", "reset"]
            try await errand(set + ["https://vote.example.com/reset?token={token}"])
                .shows("template", "https://vote.example.com/reset?token={token}")
            try await errand(set + ["https://vote.example.com/reset"])
                .expect(2, "the template is invalid")
            try await errand(set + ["vote://reset/{token}"]).expect(0)
            try await errand("account", "set-template", "none", "reset", "vote://{token}")
                .expect(3, "there is no app none")
            let listed = try await errand("account", "templates", "-ojson")
            #expect(try listed.record["template"] == "vote://reset/{token}")
            try await errand("account", "rm-template", "vote", "reset", "--yes")
                .shows("result", "removed")
            try await errand("account", "rm-template", "vote", "reset", "--yes")
                .expect(3, "has no template")
        }

        @Test func `the doctor warns of codes that no worker sends`() async throws {
            try await ground()
            func finding() async throws -> JSON? {
                try await errand("doctor", "-ojson").records.first { $0["check"] == "accounts" }
            }
            #expect(try await finding() == nil)
            try await change(
                """
                UPDATE accounts.codes SET requested_at = requested_at - interval '2 minutes'
                """)
            let late = try await finding()
            #expect(late?["severity"] == "warning")
            #expect(late?["message"].text?.hasSuffix("not sent: 2") == true)
            try await change("UPDATE accounts.codes SET expires_at = now()")
            #expect(try await finding() == nil)
            try await change(
                """
                DO $$
                BEGIN
                    FOR n IN 1..40 LOOP
                        PERFORM accounts.issue_code('n' || n || '@example.org', 'sign_in',
                            'account', 'n' || n);
                        BEGIN
                            PERFORM accounts.check_code('n' || n || '@example.org', 'sign_in',
                                '000000', 'account', 'n');
                            RAISE EXCEPTION 'wrong code';
                        EXCEPTION WHEN raise_exception THEN
                            NULL;
                        END;
                    END LOOP;
                END $$
                """)
            let rollsBack = try await finding()
            #expect(rollsBack?["message"].text?.contains("rolls back the wrong codes") == true)
        }
    }
}
