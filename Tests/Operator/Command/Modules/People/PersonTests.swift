import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand person") struct PersonTests {
        /// Three adults; what the commands do depends on no other module.
        private func fill() async throws {
            try await change(
                """
                DELETE FROM people.holders;
                SELECT people.put_person(id, jsonb_build_object(
                    'email', 'person' || id || '@example.org', 'birth_date', '1990-05-17'))
                FROM generate_series(41, 43) AS id;
                SELECT people.record_consent(41, 'terms', '2026-01')
                """)
        }

        private func work() async throws {
            try await errand("work", "--queues", "people", "--drain").expect(0)
        }

        @Test func `people are listed and shown, their facts with --reveal alone`() async throws {
            try await errand("person", "ls").expect(0, "no people match")
            try await fill()
            let people = try await errand("person", "ls", "-ojson").records
            #expect(people.map { $0["id"] } == [43, 42, 41])
            #expect(people.map { $0["state"] } == ["active", "active", "active"])
            try await errand("person", "ls", "--state", "erased").expect(0, "no people match")
            try await change(
                """
                UPDATE people.people SET blocked_at = now() WHERE id <> 42;
                UPDATE people.people SET erased_at = now() WHERE id = 43
                """)
            for (state, id) in [("active", "42"), ("blocked", "41"), ("erased", "43")] {
                let listed = try await errand("person", "ls", "--state", state, "-ojson").records
                #expect(listed.map { $0["id"].id } == [id])
                #expect(listed.map { $0["state"].text } == [state])
            }
            let shown = try await errand("person", "show", "41", "-ojson").record
            #expect(shown["consents"].elements.map { $0["version"] } == ["2026-01"])
            #expect(shown["facts"] == .null)
            let revealed = try await errand(
                "person", "show", "41", "-ojson", "--reveal", "--reason", "asked"
            ).record
            #expect(revealed["facts"]["email"] == "person41@example.org")
            try await errand("person", "show", "9").expect(3, "there is no person 9")
        }

        @Test func `an erasure shows its state, ends with a certificate, and is repeated`()
            async throws
        {
            try await fill()
            let erase = ["person", "erase", "41", "--reason", "a letter"]
            try await errand("person", "erase", "41", "--yes").expect(2, "--reason")
            try await errand(erase).expect(5, "not confirmed")
            try await errand("person", "certificate", "41").expect(3, "no certificate")
            let asked = try await errand(erase + ["--yes", "-ojson"])
            #expect(try asked.record["state"] == "requested")
            #expect(try asked.record["cause"] == "operator")
            let blocked = try await errand("person", "ls", "--state", "blocked", "-ojson").records
            #expect(blocked.map { $0["id"] } == [41])
            try await work()
            #expect(
                try await errand(erase + ["--yes", "-ojson"]).record["state"] == "finished")
            let printed = try await errand("person", "certificate", "41")
            printed.expect(0)
            #expect(printed.output.contains("people.consents deleted: 1"))
            #expect(printed.output.contains("SHA-256: "))
            let certificate = try await errand("person", "certificate", "41", "-ojson").record
            #expect(certificate["is_intact"] == true)
            // The lines of the audit log about the person have lost their reasons.
            let lines = try await errand("audit", "ls", "-ojson").records
            #expect(lines.contains { $0["subject"] == "person 41" && $0["reason"] == .null })
            try await change("UPDATE people.certificates SET body = body || 'x'")
            try await errand("person", "certificate", "41").expect(1, "was changed")
        }

        @Test func `an erasure that has not started can be stopped`() async throws {
            try await fill()
            let keep = ["person", "keep", "41", "--reason", "a mistake", "--yes"]
            try await errand(keep).expect(3, "no erasure of person 41 was requested")
            try await errand("person", "erase", "41", "--reason", "a letter", "--yes").expect(0)
            try await errand(keep).expect(0)
            try await errand(keep).expect(4, "the erasure of person 41 is kept")
            #expect(try await errand("person", "show", "41", "-ojson").record["state"] == "active")
        }

        @Test func `an export is JSON, and is recorded`() async throws {
            try await fill()
            let export = try await errand("person", "export", "41", "--reason", "a letter")
            #expect(try export.record["people"]["people"].elements.count == 1)
            let lines = try await errand("audit", "ls", "-ojson").records
            #expect(lines.first?["action"] == "person export")
            try await errand("person", "export", "9").expect(3, "there is no person 9")
        }

        // "`errand person erase` says \"there is no person 42\" (exit 3) after it worked"
        @Test func `an erasure that a worker has begun is shown as it is`() async throws {
            try await fill()
            try await change(
                """
                CREATE FUNCTION people.begin_at_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    UPDATE people.erasures SET state = 'running'; RETURN NULL; END $$;
                CREATE TRIGGER begin_at_once AFTER INSERT ON errand.audit
                    FOR EACH ROW EXECUTE FUNCTION people.begin_at_once()
                """)
            let asked = try await errand(
                "person", "erase", "41", "--reason", "a letter", "--yes", "-ojson")
            asked.expect(0)
            #expect(try asked.record["state"] == "running")
        }

        @Test func `the doctor warns of late erasures and of a module that fails`() async throws {
            try await fill()
            func finding(_ text: String) async throws -> JSON? {
                try await errand("doctor", "-ojson").records.first {
                    $0["check"] == "people" && $0["message"].text?.contains(text) == true
                }
            }
            #expect(try await finding("no erasure is open")?["severity"] == "ok")
            try await errand("person", "erase", "41", "--reason", "a letter", "--yes").expect(0)
            #expect(try await finding("open erasures: 1, none is late")?["severity"] == "ok")
            try await change(
                """
                UPDATE people.erasures SET target_at = now() - interval '1 hour',
                    failure = 'coupons 23503'
                """)
            #expect(try await finding("after 72 hours: 1")?["severity"] == "warning")
            #expect(try await finding("the step coupons 23503")?["severity"] == "warning")
            try await change("UPDATE people.erasures SET due_at = now() - interval '1 hour'")
            #expect(try await finding("after 30 days: 1")?["severity"] == "critical")
        }
    }

    @Suite("errand retention") struct RetentionCommandTests {
        private func fill() async throws {
            try await change(
                """
                DELETE FROM people.retention_rules WHERE module <> 'people';
                CREATE FUNCTION people.toy(before timestamptz, max_rows int, only_count boolean)
                RETURNS bigint LANGUAGE sql AS $$ SELECT CASE WHEN only_count THEN 7 ELSE 3 END $$;
                INSERT INTO people.retention_rules
                VALUES ('people.toy', 'people', 'toy', '90 days', 'toys')
                """)
        }

        @Test func `rules are listed, counted, run and changed`() async throws {
            try await fill()
            let rules = try await errand("retention", "ls", "-ojson").records
            #expect(
                rules.map { $0["rule"] }
                    == ["people.toy", "people.unused", "people.unused_warned"])
            #expect(rules.map { $0["started_at"] } == [.null, .null, .null])
            let dry = try await errand("retention", "run", "--dry-run", "-ojson").records
            #expect(dry.map { $0["rows"] } == [7, 0, 0])
            try await errand("retention", "run").expect(5, "not confirmed")
            let run = try await errand(
                "retention", "run", "--rule", "people.toy", "--yes", "-ojson"
            ).record
            #expect(run["rows"] == 3)
            try await errand("retention", "run", "--rule", "people.toys", "--yes")
                .expect(3, "did you mean people.toy?")
            try await errand("retention", "set", "people.toy", "13 moons", "--yes")
                .expect(2, "a time such as 90 days")
            try await errand("retention", "set", "people.toy", "13 months", "--yes")
                .shows("keep", "1 year 1 mon")
            try await errand("retention", "set", "people.x", "13 months", "--yes")
                .expect(3, "no rule of retention people.x")
            let lines = try await errand("audit", "ls", "-ojson").records
            #expect(lines.first?["action"] == "retention set")
            #expect(lines.first?["change"]["before"] == "90 days")
        }

        // "The doctor is silent when retention has never run"
        @Test func `a rule that does not run is named, whether others run or not`() async throws {
            try await fill()
            func idle() async throws -> String? {
                try await errand("doctor", "-ojson").records.compactMap { $0["message"].text }
                    .first { $0.contains("not run for two days") }
            }
            try await change(
                """
                DELETE FROM people.people;
                UPDATE errand.migrations SET applied_at = now() - interval '3 days'
                """)
            // There is nothing to delete.
            #expect(try await idle() == nil)
            try await change("SELECT people.put_person(7)")
            #expect(try await idle()?.hasSuffix("days: 3, such as people.toy") == true)
            try await errand("retention", "run", "--rule", "people.toy", "--yes").expect(0)
            #expect(try await idle()?.hasSuffix("days: 2, such as people.unused") == true)
            try await errand("retention", "run", "--yes").expect(0)
            #expect(try await idle() == nil)
        }

        @Test func `a rule that fails ends with exit 7, and the doctor names it`() async throws {
            try await fill()
            try await change("DROP FUNCTION people.toy")
            try await errand("retention", "run", "--yes").expect(7, "people.toy failed")
            let doctor = try await errand("doctor", "-ojson").records
            #expect(
                doctor.contains {
                    $0["message"] == "the rule of retention people.toy failed"
                })
        }
    }
}
