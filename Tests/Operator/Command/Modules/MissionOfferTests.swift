import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand mission, with a database") struct MissionOfferTests {
        /// Three shoppers and two missions, of two slots and of one.
        private func fill() async throws {
            try await change(
                """
                INSERT INTO people.people (id, birth_date, age_verified_at)
                SELECT n, '1990-05-17', now() FROM generate_series(41, 44) n;
                INSERT INTO establishments.establishments (id, name) VALUES (7, 'Cafe');
                INSERT INTO establishments.branches (id, establishment_id, name, place) VALUES
                    (3, 7, 'Queen St', st_setsrid(st_makepoint(-73.6, 45.5), 4326)::geography),
                    (4, 7, 'King St', st_setsrid(st_makepoint(-73.6, 45.5), 4326)::geography);
                SELECT missions.hire(n, 'test') FROM generate_series(41, 43) n;
                SELECT missions.set_shopper(n, -73.6 + (n - 41) * 0.01, 45.5, 15000)
                FROM generate_series(41, 43) n;
                SELECT missions.open_mission(2 + n, 'Ask about size', now(), now() + n * '2 days'
                    ::interval, 2500, 1500, '[{"kind":"report","title":"How it was"}]', 'UTC',
                    slots => n, rest_days => 0) FROM generate_series(1, 2) n
                """)
        }

        private func finish(_ assignment: String, _ person: Int) async throws {
            try await change(
                """
                SELECT missions.accept(\(person), \(assignment));
                SELECT missions.arrive(\(person), \(assignment), -73.6, 45.5, 5);
                SELECT missions.finish_step(\(person), \(assignment), 1, '{}');
                SELECT missions.submit(\(person), \(assignment), 'r' || clock_timestamp())
                """)
        }

        @Test func `offers are shown by a dry run, then made, then explained`() async throws {
            try await fill()
            let dry = try await errand("mission", "assign", "--dry-run", "-ojson")
            dry.expect(0)
            let pairs = try dry.records.dropLast()
            #expect(pairs.count == 3)
            #expect(pairs.allSatisfy { $0.names == ["mission", "shopper", "score"] })
            let summary = try #require(try dry.records.last)
            #expect(summary["filled"] == 3 && summary["unfilled"] == 0)
            #expect(summary["is_optimal"] == true && summary["rests"] == 0)
            #expect(summary["total_score"] == summary["bound"])
            #expect(
                pairs.reduce(0) { $0 + ($1["score"].number ?? 0) }
                    == summary["total_score"].number)
            #expect(try await number("SELECT count(*) FROM missions.assignments") == 0)
            let greedy = try await errand("mission", "assign", "--dry-run", "--greedy", "-ojson")
            greedy.expect(0)
            #expect(try greedy.records.last?["filled"] == 3)
            try await errand("mission", "assign", "--greedy").expect(2, "--greedy needs --dry-run")
            try await errand("mission", "assign").expect(5, "not confirmed")
            try await errand("mission", "assign", "--mission", "1", "--yes").expect(0, "1 of 1")
            let run = try await errand("mission", "assign", "--yes", "-ojson")
            run.expect(0)
            #expect(try run.records.last?["filled"] == 2)
            #expect(try await number("SELECT count(*) FROM missions.assignments") == 3)
            let runs = try await errand("mission", "runs", "-ojson").records
            #expect(runs.map { $0["offered"] } == [2, 1])
            #expect(runs.allSatisfy { $0["is_optimal"] == true && $0["bound"].number != nil })
            try await errand("mission", "runs", "--limit", "1").expect(0, "--cursor 2")

            let explained = try await made("mission", "explain", "1", "41")
            #expect(explained["parts"].elements.count == 7)
            #expect(
                explained["parts"].elements.reduce(0) { $0 + ($1["points"].number ?? 0) }
                    == explained["score"].number)
            // The own slot is no objection for its holder; another shopper finds no free slot.
            let holders = try run.records.filter { $0["mission"] == 2 }.map { $0["shopper"].id }
            let holder = try #require(holders.first)
            let other = try #require(["41", "42", "43"].first { !holders.contains($0) })
            try await errand("mission", "explain", "2", holder).expect(0, "no rule forbids")
            try await errand("mission", "explain", "2", other)
                .expect(0, "forbidden by: no_slot")
            try await errand("mission", "explain", "9", "42").expect(3, "there is no mission 9")
            try await errand("mission", "explain", "1", "44").expect(3, "44 is not a shopper")
        }

        @Test func `missions are listed and shown`() async throws {
            try await fill()
            let open = try await errand("mission", "ls", "--unfilled", "-ojson").records
            #expect(open.map { $0["id"].id } == ["2", "1"])
            #expect(open.map { $0["slots"].number } == [2, 1])
            try await errand("mission", "ls", "--state", "over").expect(0, "no missions match")
            try await errand("mission", "ls", "--limit", "1").expect(0, "more: ", "--cursor 2")
            try await errand("mission", "offer", "1", "41", "--accepted", "--yes").expect(0)
            let shown = try await made("mission", "show", "1")
            #expect(shown["filled"] == 1 && shown["place"] == "Queen St")
            #expect(shown["tasks"].elements.map { $0["title"] } == ["How it was"])
            #expect(shown["assignments"].elements.map { $0["state"] } == ["accepted"])
            #expect(shown["assignments"].elements.map { $0["actor"] } == ["tester"])
            try await errand("mission", "show", "9").expect(3, "there is no mission 9")
            let left = try await errand("mission", "ls", "--unfilled", "-oname")
            #expect(left.output == "2\n")
        }

        @Test func `an operator offers, withdraws, locks and cancels`() async throws {
            try await fill()
            try await made("mission", "lock", "2", "--reason", "I know whom")
            try await errand("mission", "lock", "2").expect(0, "already locked")
            try await errand("mission", "assign", "--mission", "2", "--yes")
                .expect(5, "mission 2 is locked")
            try await errand("mission", "assign", "--mission", "99", "--dry-run")
                .expect(3, "there is no mission 99")
            try await errand("mission", "offer", "99", "42", "--yes")
                .expect(3, "there is no mission 99")
            let offered = try await made("mission", "offer", "2", "42", "--yes")
            #expect(offered["state"] == "offered" && offered["score"] == nil)
            let id = offered["id"].id
            try await errand("mission", "offer", "2", "42", "--yes")
                .expect(5, "mission 2 cannot be offered to person 42: holds_already")
            try await errand("mission", "withdraw", id, "--yes").expect(
                2, "--reason TEXT is required")
            let taken = try await made(
                "mission", "withdraw", id, "--reason", "the shop is shut", "--yes")
            #expect(taken["state"] == "withdrawn" && taken["reason"] == "the shop is shut")
            try await errand("mission", "offer", "2", "42", "--yes").expect(5, "declined_before")
            try await made("mission", "offer", "2", "42", "--force", "--accepted", "--yes")
            #expect(try await made("mission", "unlock", "2")["is_locked"] == false)
            let cancelled = try await made("mission", "cancel", "2", "--reason", "shut", "--yes")
            #expect(cancelled["state"] == "cancelled" && cancelled["filled"] == 0)
            try await errand("mission", "cancel", "2", "--reason", "shut", "--yes")
                .expect(0, "already closed or cancelled")
            try await errand("mission", "assign", "--mission", "2", "--yes")
                .expect(4, "mission 2 is cancelled")
            try await errand("mission", "withdraw", "99", "--reason", "x", "--yes")
                .expect(3, "assignment 99 does not exist")
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(
                Set(audit.compactMap { $0["action"].text }).isSuperset(
                    of: [
                        "mission lock", "mission unlock", "mission offer", "mission withdraw",
                        "mission cancel",
                    ]))
        }

        @Test func `a submission is returned, then approved and paid once`() async throws {
            try await fill()
            let id = try await made("mission", "offer", "1", "43", "--yes")["id"].id
            try await errand("mission", "review", id, "--verdict", "approve", "--yes")
                .expect(4, "assignment \(id) is offered")
            try await finish(id, 43)
            let waiting = try await errand("mission", "ls", "--submitted", "-oname")
            #expect(waiting.output == "1\n")
            try await errand("mission", "review", id, "--verdict", "return", "--yes")
                .expect(2, "needs --code or --reason")
            let back = try await made(
                "mission", "review", id, "--verdict", "return", "--reason", "no receipt", "--yes")
            #expect(back["state"] == "arrived" && back["returns"] == 1)
            try await finish(id, 43)
            let paid = try await made("mission", "review", id, "--verdict", "approve", "--yes")
            #expect(paid["state"] == "paid" && paid["transaction"].number != nil)
            try await errand("mission", "review", id, "--verdict", "approve", "--yes")
                .expect(0, "the same verdict was already recorded")
            try await errand(
                "mission", "review", id, "--verdict", "reject", "--reason", "no", "--yes"
            ).expect(4, "assignment \(id) is paid")
            #expect(
                try await number("SELECT sum(amount)::bigint FROM ledger.reward_balance(43)")
                    == 1_500)
        }

        @Test func `a code says why, and faces delete the result of a task`() async throws {
            try await fill()
            let id = try await made("mission", "offer", "1", "43", "--yes")["id"].id
            try await finish(id, 43)
            let review = ["mission", "review", id, "--yes", "--verdict"]
            try await errand(review + ["return", "--code", "faces"]).expect(2, "needs --task")
            try await errand(review + ["return", "--reason", "x", "--task", "1"])
                .expect(2, "--task needs --code")
            try await errand(review + ["approve", "--code", "unclear"])
                .expect(2, "takes no --code")
            try await errand(review + ["return", "--code", "ugly"]).expect(2, "wrong_place")
            try await errand(review + ["return", "--code", "faces", "--task", "7"])
                .expect(2, "mission 1 has no task 7")
            try await errand(
                "mission", "review", id, "--verdict", "return", "--code", "faces", "--task", "1"
            ).expect(5, "not confirmed")
            #expect(try await number("SELECT count(*) FROM missions.steps") == 1)
            let run = try await errand(
                review + ["return", "--code", "faces", "--task", "1", "-ojson"])
            run.expect(0)
            let back = try run.record
            #expect(back["state"] == "arrived" && back["code"] == "faces")
            #expect(back["reason"] == "people can be recognized")
            #expect(back["review_tasks"].elements == ["1"])
            #expect(try await number("SELECT count(*) FROM missions.steps") == 0)
            let audit = try await errand("audit", "ls", "-ojson").records
            #expect(audit.contains { $0["subject"] == .text("assignment \(id): return faces") })
        }

        @Test func `the coupons of a mission are shown`() async throws {
            try await fill()
            try await change(
                """
                SELECT missions.open_mission(3, 'Lunch', now(), now() + interval '1 day', 25, 15,
                    '[{"kind":"report","title":"How it was"}]', 'UTC',
                    coupons => '[{"establishment": 7, "title": "Tea", "days": 30}]')
                """)
            let shown = try await made("mission", "show", "3")
            #expect(shown["coupons"].elements.map { $0["title"] } == ["Tea"])
            #expect(shown["coupons"].elements.map { $0["days"] } == [30])
            #expect(try await made("mission", "show", "1")["coupons"] == [])
        }

        @Test func `pictures are deleted from a paid mission, and refused coupons are granted`()
            async throws
        {
            try await fill()
            try await change(
                """
                SELECT establishments.put_establishment(9, 'Closed soon');
                SELECT missions.open_mission(3, 'Lunch', now(), now() + interval '1 day', 25, 15,
                    '[{"kind":"report","title":"How it was"}]', 'UTC',
                    coupons => '[{"establishment": 9, "title": "Tea", "days": 30}]')
                """)
            let id = try await made("mission", "offer", "3", "43", "--yes")["id"].id
            try await finish(id, 43)
            try await change("SELECT establishments.close_establishment(9)")
            let paid = try await made("mission", "review", id, "--verdict", "approve", "--yes")
            #expect(paid["refused_coupons"].elements == ["1 closed"])
            func findings() async throws -> [String] {
                try await errand("doctor", "-ojson").records
                    .filter { $0["check"] == "missions" }.compactMap { $0["message"].text }
            }
            #expect(try await findings().first?.hasSuffix("closed establishment: 1") == true)
            let listed = try await errand("mission", "ls", "--refused-coupons", "-oname")
            #expect(listed.output == "3\n")
            try await errand("mission", "grant", id).expect(5, "1 of 1 coupons are still refused")
            try await change("UPDATE establishments.establishments SET closed_at = NULL")
            #expect(try await made("mission", "grant", id)["refused_coupons"] == [])
            #expect(try await number("SELECT count(*) FROM coupons.coupons") == 1)
            try await errand("mission", "grant", id).expect(0, "no coupon was refused")
            try await errand("mission", "grant", id, "--give-up").expect(5, "not confirmed")
            try await errand("mission", "grant", id, "--give-up", "--yes")
                .expect(0, "no coupon was refused")
            #expect(try await findings() == [])

            try await errand("mission", "redact", id, "--yes").expect(2, "expected --task")
            try await errand("mission", "redact", id, "--task", "1").expect(5, "not confirmed")
            let state = try await made("mission", "redact", id, "--task", "1", "--yes")["state"]
            #expect(state == "paid")
            #expect(try await number("SELECT count(*) FROM missions.steps") == 0)
            try await errand("mission", "redact", id, "--task", "1", "--yes")
                .expect(0, "no results of these tasks")
            try await errand("mission", "redact", "999", "--task", "1", "--yes").expect(3, "999")
        }

        @Test func `shoppers are hired, refused and suspended`() async throws {
            try await fill()
            let listed = try await errand("shopper", "ls", "-ojson").records
            #expect(listed.map { $0["person"].id } == ["41", "42", "43"])
            #expect(listed.allSatisfy { $0["state"] == "active" })
            try await errand("shopper", "ls", "--limit", "2").expect(0, "--cursor 42")
            let hired = try await made("shopper", "hire", "44", "--yes")
            #expect(hired["state"] == "active" && hired["has_home"] == false)
            try await errand("shopper", "hire", "44", "--yes").expect(0, "already in that state")
            let suspended = try await made(
                "shopper", "suspend", "44", "--reason", "photos in doubt", "--yes")
            #expect(suspended["state"] == "suspended")
            #expect(suspended["reason"] == "photos in doubt")
            try await errand("shopper", "suspend", "41", "--yes").expect(2, "--reason")
            try await made("shopper", "refuse", "41", "--reason", "works for a client", "--yes")
            let refused = try await errand("shopper", "ls", "--state", "refused", "-oname")
            #expect(refused.output == "41\n")
            try await errand("shopper", "show", "99").expect(3, "person 99 is not a shopper")
            try await errand("shopper", "hire", "99", "--yes").expect(3, "99")
            let shown = try await made("shopper", "show", "42")
            #expect(shown["assignments"] == [])
        }

        @Test func `a year is simulated without a server`() async throws {
            let bare = ["DATABASE_URL": "", "REDIS_URL": ""]
            let words = [
                "mission", "simulate", "--days", "60", "--shoppers", "30", "--missions", "4",
                "-ojson",
            ]
            let run = try await errand(words, environment: bare)
            run.expect(0)
            let years = try run.records
            #expect(years.map { $0["method"] } == ["matching", "greedy"])
            #expect(years[0]["missions"] == years[1]["missions"])
            for year in years {
                #expect((0...1).contains(year["gini"].number ?? -1))
                #expect((0...1).contains(year["unfilled_rate"].number ?? -1))
            }
            #expect(try await errand(words, environment: bare).output == run.output)
        }
    }
}
