import Foundation
import ErrandTestServices
import Testing

extension AppCommands {
    @Suite("errand household") struct HouseholdCommandTests {
        /// A group of three in Toronto with two bills and an invitation; a group of one in Tokyo.
        private func fill() async throws {
            try await change(
                """
                INSERT INTO people.people (id) SELECT generate_series(41, 46);
                SELECT household.create_group(41, 'Rue Rachel', 'America/Toronto');
                SELECT household.accept(42, household.invite(41, 42));
                SELECT household.accept(43, household.invite(42, 43));
                SELECT household.invite(41, 44);
                SELECT household.add_bill(41, 'Internet', 9000, '{41,42,43}', 'b1', '2026-11-01');
                SELECT household.add_bill(42, 'Hydro', 6000, '{41,42,43}', 'b2', '2026-11-02');
                SELECT household.create_group(45, 'Shibuya', 'Asia/Tokyo', 'JPY')
                """)
        }

        /// A weekly chore with two turns, one of them done, and a chore whose rule matches no day.
        private func fillChores() async throws {
            try await change(
                """
                SELECT household.add_chore(41, 'Dishes', '2026-03-02', 'FREQ=WEEKLY',
                    at_time => '18:30', persons => '{41,42,43}');
                SELECT household.add_chore(42, 'Never', '2026-03-02', 'FREQ=YEARLY;BYMONTH=2');
                SELECT household.plan_chore(1, 1, '2026-03-02', '2026-03-01T05:00Z');
                SELECT household.fail_chore(2, 1, 'no day comes of it: change the rule');
                SELECT household.take(1, '2026-03-02', '2026-03-02T23:30Z', '2026-03-09',
                    '2026-03-08T05:00Z');
                SELECT household.done(43, 1);
                SELECT household.take(1, '2026-03-09', '2026-03-09T22:30Z', '2026-04-06',
                    '2026-04-05T05:00Z');
                SELECT household.remind_overdue('2026-03-10T00:00Z');
                SELECT household.set_away(42, true)
                """)
        }

        // MARK: Groups

        @Test func `groups are listed, newest first`() async throws {
            try await errand("household", "ls").expect(0, "no groups match")
            try await fill()
            let groups = try await errand("household", "ls", "-ojson").records
            #expect(groups.map { $0["name"] } == ["Shibuya", "Rue Rachel"])
            #expect(groups.map { $0["members"] } == [1, 3])
            #expect(groups.map { $0["owed"] } == [0, 6000])
            #expect(groups.map { $0["balances_notified_on"] } == [nil, nil])
            try await errand("household", "ls", "--limit", "1").expect(0, "more: ", "--cursor 2")
            let next = try await errand("household", "ls", "--cursor", "2", "-oname")
            #expect(next.output == "1\n")
            for filter in [["--person", "42"], ["--zone", "America/Toronto"], ["--owing"]] {
                let run = try await errand(["household", "ls", "-oname"] + filter)
                run.expect(0)
                #expect(run.output == "1\n", "\(filter)")
            }
            let table = try await errand("household", "ls")
            #expect(table.output.contains("60.00"))
            try await errand("household", "ls", "--person", "46").expect(0, "no groups match")
        }

        @Test func `a group is shown with members, invitations and totals`() async throws {
            try await fill()
            try await change(
                """
                SELECT household.set_name(42, 'Zoé');
                SELECT household.leave(43); SELECT household.add_note(41, 'Key at the neighbours');
                SELECT household.add_item(42, 'Milk', true)
                """)
            let shown = try await made("household", "show", "1")
            let members = shown["members"].elements
            #expect(members.map { $0["person"] } == [41, 42, 43])
            #expect(members.map { $0["balance"] } == [4000, 1000, -5000])
            #expect(members.map { $0["name"] } == [nil, "Zoé", nil])
            #expect(members.map { $0["left_at"] == nil } == [true, true, false])
            #expect(shown["invitations"].elements.map { $0["person"] } == [44])
            #expect(shown["invitations"].elements.map { $0["sender"] } == [41])
            #expect(shown["owed"] == 6000 && shown["spent"] == 15000 && shown["bills"] == 2)
            #expect(shown["notes"] == 1 && shown["items"] == 1 && shown["trips"] == 0)
            #expect(shown["founder"] == 41 && shown["emptied_at"] == nil)
            let card = try await errand("household", "show", "1")
            #expect(card.output.contains("150.00"))
            try await change("SELECT household.fail_zone('Asia/Tokyo', 'it is damaged', now())")
            #expect(try await made("household", "show", "2")["zone_fault"] == "it is damaged")
            #expect(shown["zone_fault"] == nil)
            let doctor = try await errand("doctor", "-ojson").output
            #expect(doctor.contains("it is damaged: chores of 1 groups in Asia/Tokyo"))
            let yen = try await made("household", "show", "2")
            #expect(yen["currency"] == "JPY" && yen["members"].elements.count == 1)
            for verb in ["show", "balances", "chores", "feed", "stats"] {
                try await errand("household", verb, "9").expect(3, "there is no group 9", "ls")
            }
            try await errand("household", "show").expect(2, "GROUP")
        }

        // MARK: Debts

        @Test func `lists debts, and a few payments that settle them`() async throws {
            try await fill()
            let balances = try await errand("household", "balances", "1", "-ojson")
            balances.expect(0)
            let names: Set = ["group", "debtor", "creditor", "amount", "currency"]
            #expect(try balances.records.map(\.names) == [names, names, names])
            #expect(try balances.records.map { $0["debtor"] } == [43, 43, 42])
            #expect(try balances.records.map { $0["creditor"] } == [41, 42, 41])
            #expect(try balances.records.map { $0["amount"] } == [3000, 2000, 1000])
            let few = try await errand("household", "balances", "1", "--simplified", "-ojson")
                .records
            #expect(few.map { $0["debtor"] } == [43, 43])
            #expect(few.map { $0["amount"] } == [4000, 1000])
            let again = try await errand("household", "balances", "1", "-ojson")
            #expect(again.output == balances.output)
            try await errand("household", "balances", "2")
                .expect(0, "nobody in group 2 owes anything")
        }

        @Test func `month ends are listed by zone, unplanned ones first`() async throws {
            try await errand("household", "balances").expect(0, "there are no groups")
            try await fill()
            try await change(
                """
                SELECT household.set_month_end('America/Toronto', day, day + '14 hours'::interval)
                FROM unnest('{2020-10-31,2999-11-30}'::date[]) AS day;
                UPDATE household.groups SET created_at = '2020-01-01'
                """)
            let zones = try await errand("household", "balances", "-ojson").records
            #expect(zones.map { $0["zone"] } == ["Asia/Tokyo", "America/Toronto"])
            #expect(zones.map { $0["month_end"] } == [nil, "2999-11-30"])
            #expect(zones.map { $0["at"] } == [nil, "2999-11-30T14:00:00.000000Z"])
            #expect(zones.map { $0["last_month_end"] } == [nil, "2020-10-31"])
            #expect(zones.map { $0["untold"] } == [0, 1])
            try await change("SELECT household.due_groups()")
            let told = try await errand("household", "balances", "-ojson").records
            #expect(told.map { $0["untold"] } == [0, 0])
            #expect(told.map { $0["notified_at"] == nil } == [true, false])
            try await errand("household", "balances", "--simplified").expect(2, "needs a GROUP")
        }

        private func remind(_ options: String...) async throws -> Run {
            try await errand(["household", "remind", "-ojson"] + options)
        }

        /// Requested reminders that are not decided yet.
        private func asked() async throws -> Int {
            try await number(
                """
                SELECT count(*) FROM errand.jobs
                WHERE kind = 'household.notify' AND args ->> 'event' = 'debt_reminder'
                """)
        }

        private func work() async throws {
            try await errand("work", "--queues", "household,notices", "--drain").expect(0)
        }

        @Test func `debtors are reminded in the creditor's name, once a day`() async throws {
            try await fill()
            try await change("UPDATE people.people SET quiet_from = NULL, quiet_until = NULL")
            let dry = try await remind("--from", "41", "--dry-run")
            dry.expect(0)
            #expect(try dry.records.map { $0["debtor"] } == [42, 43])
            #expect(try dry.records.map { $0["amount"] } == [1000, 3000])
            #expect(try dry.records.map { $0["decision"] } == ["send", "send"])
            try await remind("--from", "41").expect(5, "not confirmed: remind 2 people")
            #expect(try await asked() == 0)
            let one = try await remind(
                "--from", "41", "--to", "43", "--reason", "asked for it", "--yes")
            one.expect(0)
            #expect(try one.records.map { $0["debtor"] } == [43])
            #expect(try await asked() == 1)
            let audit = try await made("audit", "ls", "--action", "household remind")
            #expect(audit["subject"] == "person 43 of a debt to person 41")
            #expect(audit["operator"] == "tester" && audit["reason"] == "asked for it")
            try await work()
            #expect(
                try await number(
                    """
                    SELECT count(*) FROM notification.notices WHERE person_id = 43
                        AND sender_id = 41 AND kind = 'household.debt_reminder' AND status = 'sent'
                    """) == 1)
            let again = try await remind("--from", "41", "--to", "43", "--yes")
            again.expect(5, "person 43 is not reminded", "the next is allowed at")
            #expect(try again.records.map { $0["decision"] } == ["refuse"])
            #expect(try again.records.allSatisfy { $0["hold_until"].text != nil })
            #expect(try await asked() == 0)
            // The policy counts reminders of each debt separately.
            let all = try await remind("--from", "41", "--yes")
            all.expect(7, "person 43 is not reminded")
            #expect(try all.records.map { $0["decision"] } == ["send", "refuse"])
            #expect(try await asked() == 1)
            try await remind("--from", "42", "--to", "43", "--yes").expect(0)
            #expect(
                try await number(
                    "SELECT count(*) FROM errand.audit WHERE action = 'household remind'") == 3)
        }

        @Test func `people without debts and unknown people are not reminded`() async throws {
            try await fill()
            try await remind("--from", "43", "--yes").expect(4, "nobody owes person 43 anything")
            try await remind("--from", "42", "--to", "41", "--yes")
                .expect(4, "person 41 owes person 42 nothing")
            try await remind("--from", "99", "--yes").expect(3, "there is no person 99")
            try await remind("--from", "41", "--to", "99", "--yes")
                .expect(3, "there is no person 99")
            try await remind("--from", "41", "--to", "41").expect(2, "a person other than --from")
            try await remind("--to", "41").expect(2, "--from PERSON is required")
            #expect(try await asked() == 0)
        }

        // MARK: Chores

        @Test func `chores list the current turn, the next one and faults`() async throws {
            try await fill()
            try await errand("household", "chores", "1").expect(0, "has no matching chores")
            try await fillChores()
            let chores = try await errand("household", "chores", "1", "-ojson").records
            #expect(chores.map { $0["title"] } == ["Dishes", "Never"])
            let dishes = try #require(chores.first)
            #expect(dishes["rule"] == "FREQ=WEEKLY" && dishes["at_time"] == "18:30")
            #expect(dishes["next_on"] == "2026-04-06" && dishes["due_on"] == "2026-03-09")
            // 43 did the turn of 41, so 41 got the next one; 42 is away.
            #expect(dishes["state"] == "overdue" && dishes["assignee"] == 41)
            let rotation = dishes["rotation"].elements
            #expect(rotation.map { $0["person"] } == [41, 43, 42])
            #expect(rotation.map { $0["turns"] } == [1, 1, 0])
            #expect(rotation.map { $0["is_away"] } == [false, false, true])
            #expect(dishes["next_assignee"] == 41 && dishes["taken"] == 2)
            let broken = try await errand("household", "chores", "1", "--faulty", "-ojson").records
            #expect(broken.map { $0["id"] } == [2])
            #expect(broken.map { $0["fault"] } == ["no day comes of it: change the rule"])
            #expect(broken.map { $0["next_on"] } == [nil])
            try await errand("household", "chores", "1", "--limit", "1")
                .expect(0, "more: ", "--cursor 1")
            let next = try await errand("household", "chores", "1", "--cursor", "1", "-oname")
            #expect(next.output == "2\n")
            let table = try await errand("household", "chores", "1")
            #expect(table.output.contains("42×0 (away)"))
            // One without a day is open at once, and nobody's.
            try await change("SELECT household.add_chore(41, 'Fix the tap')")
            let open = try #require(
                try await errand("household", "chores", "1", "-ojson").records.last)
            #expect(open["title"] == "Fix the tap" && open["state"] == "due")
            #expect(open["starts_on"] == nil && open["due_on"] == nil && open["assignee"] == nil)
        }

        @Test func `chores done are counted by person and period`() async throws {
            try await fill()
            try await fillChores()
            let weeks = try await errand(
                "household", "stats", "1", "--from", "2026-03-01", "--until", "2026-04-01",
                "-ojson"
            ).records
            #expect(weeks.map { $0["begins_on"] } == ["2026-03-02", "2026-03-09"])
            #expect(weeks.map { $0["person"] } == [43, 41])
            #expect(weeks.map { $0["done"] } == [1, 0])
            #expect(weeks.map { $0["done_late"] } == [1, 0])
            #expect(weeks.map { $0["for_others"] } == [1, 0])
            let months = try await errand(
                "household", "stats", "1", "--from", "2026-03-01", "--until", "2026-03-09",
                "--by", "month", "-ojson"
            ).records
            #expect(months.map { $0["begins_on"] } == ["2026-03-01"])
            #expect(months.map { $0["assigned"] } == [1])
            // A turn counts on its day, by default up to today; people without turns have 0.
            let today = try await errand("household", "stats", "1", "--by", "day", "-ojson").records
            #expect(today.map { $0["person"] }.suffix(3) == [41, 42, 43])
            #expect(today.allSatisfy { $0["assigned"] == 0 })
            try await errand(
                "household", "stats", "1", "--from", "2025-03-01", "--until", "2025-04-01"
            ).expect(0, "nobody in group 1")
            try await errand("household", "stats", "1", "--from", "2026-02-30")
                .expect(2, "expected a day such as 2026-11-01")
            try await errand(
                "household", "stats", "1", "--from", "2026-03-09", "--until", "2026-03-09"
            ).expect(2, "expected a day before 2026-03-09")
            try await errand("household", "stats", "1", "--by", "decade").expect(2, "week, month")
        }

        @Test func `the feed retains the last thirty activities`() async throws {
            try await fill()
            let feed = try await errand("household", "feed", "1", "-ojson").records
            #expect(
                feed.map { $0["event"] } == ["bill_added", "bill_added", "joined", "joined"])
            #expect(feed.map { $0["person"] } == [42, 41, 43, 42])
            #expect(feed[0]["data"]["bill_id"] == 2)
            try await change(
                """
                SELECT household.add_item(41, 'Milk', true),
                    household.paid(42, 1, 42, 41, 100, 'p' || n) FROM generate_series(1, 40) n
                """)
            let later = try await errand("household", "feed", "1", "-ojson").records
            #expect(later.count == 30)
            #expect(later.first?["number"] == 44 && later.last?["number"] == 15)
            #expect(later.allSatisfy { $0["event"] == "paid" })
        }
    }
}
