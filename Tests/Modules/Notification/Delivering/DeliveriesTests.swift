import ErrandAdministration
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("From a delivery to its answer", .database) struct DeliveriesTests {
    /// A person with one device, and a notice on its way to it.
    private func notice(_ kind: NoticeKind = TestNotices.near) async throws -> Ground {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey", platform: "apns")
        try await ground.notify(ground.intent(kind, ada), now: Date())
        return ground
    }

    @Test(
        "each verdict has its row and its end of the job",
        arguments: [
            (.delivered(reply: "id 7"), "sent delivered 1 id 7", "completed"),
            (.deferred(reason: "busy", retryAfter: nil), "pending pending 1 busy", "waiting 1"),
            (
                .deferred(reason: "busy", retryAfter: .seconds(60)), "pending pending 1 busy",
                "waiting 1"
            ),
            (
                .addressBusy(reason: "full", retryAfter: .seconds(60)), "pending pending 1 full",
                "waiting 1"
            ),
            (.unavailable(reason: "down", retryAfter: nil), "pending pending 0 down", "waiting 0"),
            (.misconfigured(reason: "bad key"), "pending pending 0 bad key", "waiting 0"),
            (.addressGone(reason: "410", since: nil), "failed gone 1 410", "cancelled"),
            (.bounced(reason: "550"), "failed rejected 1 550", "dead"),
            (.rejected(reason: "too large"), "failed rejected 1 too large", "dead"),
        ] as [(DeliveryVerdict, String, String)])
    func verdict(verdict: DeliveryVerdict, row: String, job: String) async throws {
        let ground = try await notice()
        let channel = ScriptedChannel(verdict)
        try await ground.deliver([Provider.apns: channel])
        #expect(try await ground.answers() == [row])
        #expect(try await ground.jobs() == [job])
        #expect(channel.sent.count == 1)
        // Who was not told may be told again, unless it would be the same again.
        let cooldowns = try await ground.number("SELECT count(*) FROM notification.cooldowns")
        #expect(cooldowns == (row.hasPrefix("failed gone") ? 0 : 1))
        let counted = try await ground.number(
            "SELECT count(*) FROM notification.notices WHERE send_decided_at IS NOT NULL")
        #expect(counted == (row.hasPrefix("failed") ? 0 : 1))
    }

    @Test func `each attempt goes under the same id, and the last one ends the delivery`()
        async throws
    {
        let ground = try await notice()
        try await ground.run("UPDATE errand.jobs SET max_attempts = 3")
        let channel = ScriptedChannel(.deferred(reason: "busy", retryAfter: nil))
        for _ in 0..<3 {
            try await ground.deliver([Provider.apns: channel])
            try await ground.hurry()
        }
        #expect(try await ground.answers() == ["failed failed 3 busy"])
        #expect(try await ground.jobs() == ["dead"])
        let ids = Set(channel.sent.all.map(\.id))
        #expect(ids.count == 1)
        let id = try #require(ids.first)
        // RFC 9562: version 8, variant 10.
        #expect(
            try /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
                .wholeMatch(in: id) != nil)
        #expect(channel.sent.all.allSatisfy { $0.collapseID.utf8.count <= 64 })
    }

    @Test func `devices of one notice have ids of their own, and one that took it is enough`()
        async throws
    {
        let ground = try await Ground()
        let ada = try await ground.person()
        for number in 0..<3 {
            try await ground.device(of: ada, "token-\(number)", app: "survey", platform: "apns")
        }
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        let channel = ScriptedChannel(
            .addressGone(reason: "410", since: nil), .delivered(reply: "ok"),
            .rejected(reason: "no"))
        try await ground.deliver([Provider.apns: channel])
        #expect(Set(channel.sent.all.map(\.id)).count == 3)
        #expect(Set(channel.sent.all.map(\.noticeID)).count == 1)
        #expect(try await ground.statuses() == ["sent"])
        let disabled = try await ground.texts(
            "SELECT disabled_reason FROM notification.devices WHERE disabled_at IS NOT NULL")
        #expect(disabled == ["410"])
        #expect(try await ground.number("SELECT count(*) FROM notification.cooldowns") == 1)
    }

    @Test func `a device that was registered again after it was gone stays`() async throws {
        let ground = try await notice()
        let registered = try await ground.session.query(
            "SELECT registered_at FROM notification.devices"
        ).timestamp(0, 0)
        let channel = ScriptedChannel(
            .addressGone(reason: "410", since: registered.adding(.milliseconds(-1)).date),
            .addressGone(reason: "410", since: registered.adding(.milliseconds(1)).date))
        try await ground.deliver([Provider.apns: channel])
        #expect(
            try await ground.answers()
                == ["pending pending 1 410, and it was registered again since"])
        let disabled = "SELECT count(*) FROM notification.devices WHERE disabled_at IS NOT NULL"
        #expect(try await ground.number(disabled) == 0)
        try await ground.hurry()
        try await ground.deliver([Provider.apns: channel])
        #expect(try await ground.answers() == ["failed gone 2 410"])
        #expect(try await ground.number(disabled) == 1)
    }

    @Test func `a device that is registered again while a push is on its way stays`() async throws {
        let ground = try await notice()
        try await ground.session.script(
            """
            CREATE FUNCTION public.again() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM notification.register_device(person_id, app, platform, token, topic)
                FROM notification.devices;
                RETURN NEW;
            END $$;
            CREATE TRIGGER again BEFORE UPDATE ON notification.deliveries
                FOR EACH ROW EXECUTE FUNCTION public.again();
            """)
        let channel = ScriptedChannel(.addressGone(reason: "410", since: nil))
        try await ground.deliver([Provider.apns: channel])
        #expect(try await ground.answers() == ["failed gone 1 410"])
        let disabled = "SELECT count(*) FROM notification.devices WHERE disabled_at IS NOT NULL"
        #expect(try await ground.number(disabled) == 0)
    }

    @Test(
        "what changed between the decision and the sending is heeded",
        arguments: [
            (
                "UPDATE people.people SET location_consent_at = NULL",
                "withdrawn withdrawn 0 the person has not agreed to notices by place", "cancelled"
            ),
            (
                "UPDATE people.people SET age_verified_at = NULL",
                "withdrawn withdrawn 0 the person's age is not verified", "cancelled"
            ),
            (
                "UPDATE people.people SET birth_date = current_date - 365 * 12",
                "withdrawn withdrawn 0 the person is under 16", "cancelled"
            ),
            (
                "UPDATE notification.notices SET expires_at = now()",
                "expired expired 0 the notice has expired", "cancelled"
            ),
            (
                "UPDATE notification.devices SET disabled_at = now()",
                "failed failed 0 the device is disabled or has another owner", "cancelled"
            ),
            (
                """
                WITH bob AS (INSERT INTO people.people DEFAULT VALUES RETURNING id)
                UPDATE notification.devices SET person_id = bob.id FROM bob
                """, "failed failed 0 the device is disabled or has another owner", "cancelled"
            ),
            (
                "UPDATE notification.notices SET status = 'withdrawn'", "withdrawn pending 0",
                "completed"
            ),
        ])
    func changed(sql: String, row: String, job: String) async throws {
        let ground = try await notice()
        try await ground.run(sql)
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        try await ground.deliver([Provider.apns: channel])
        #expect(channel.sent.all.isEmpty)
        #expect(try await ground.answers() == [row])
        #expect(try await ground.jobs() == [job])
    }

    @Test func `an inbox item is enough when no delivery arrives`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        try await ground.deliver([Provider.mail: ScriptedChannel(.rejected(reason: "no"))])
        #expect(try await ground.answers() == ["sent rejected 1 no"])
    }

    @Test func `answers that come at the same time end a notice once`() async throws {
        let ground = try await Ground()
        var count = 0
        for _ in 0..<15 {
            let person = try await ground.person()
            for _ in 0..<4 {
                try await ground.device(
                    of: person, UUID().uuidString, app: "survey",
                    platform: count % 2 == 0 ? "apns" : "fcm")
                count += 1
            }
            try await ground.notify(ground.intent(TestNotices.near, person), now: Date())
        }
        let (apns, fcm) = (
            ScriptedChannel(.delivered(reply: "a")),
            ScriptedChannel(.addressGone(reason: "UNREGISTERED", since: nil))
        )
        async let first = ground.deliver([Provider.apns: apns, Provider.fcm: fcm])
        async let second = ground.deliver([Provider.apns: apns, Provider.fcm: fcm])
        _ = try await (first, second)
        #expect(Set(try await ground.statuses()) == ["sent"])
        #expect(Set(apns.sent.all.map(\.id) + fcm.sent.all.map(\.id)).count == count)
        #expect(apns.sent.count + fcm.sent.count == count)
    }

    // MARK: Brought back

    private func bringBack(_ ground: Ground) async throws {
        let ended = try await ground.session.query("SELECT id FROM errand.finished_jobs").map {
            try $0.int64(0)
        }
        _ = try await Inspector(session: ground.session).retry(ended)
    }

    @Test(
        "a dead job that is brought back sends again under the same id",
        arguments: [
            DeliveryVerdict.rejected(reason: "no"), .deferred(reason: "busy", retryAfter: nil),
        ])
    func broughtBack(verdict: DeliveryVerdict) async throws {
        let ground = try await notice()
        try await ground.run("UPDATE errand.jobs SET max_attempts = 1")
        let channel = ScriptedChannel(verdict, .delivered(reply: "ok"))
        try await ground.deliver([Provider.apns: channel])
        #expect(try await ground.jobs() == ["dead"])
        #expect(try await ground.statuses() == ["failed"])
        try await bringBack(ground)
        try await ground.deliver([Provider.apns: channel])
        #expect(channel.sent.count == 2)
        #expect(Set(channel.sent.all.map(\.id)).count == 1)
        #expect(try await ground.answers() == ["sent delivered 2 ok"])
        let told = try await ground.number(
            "SELECT count(*) FROM notification.notices WHERE send_decided_at IS NOT NULL")
        #expect(told == 1)
        // What was delivered is not sent once more.
        try await bringBack(ground)
        try await ground.deliver([Provider.apns: channel])
        #expect(channel.sent.count == 2)
    }

    @Test func `one that is brought back too late, or against a choice, says why`() async throws {
        for (sql, row) in [
            (
                "UPDATE notification.notices SET expires_at = now()",
                "expired expired 1 the notice has expired"
            ),
            (
                """
                INSERT INTO notification.preferences
                SELECT id, '*', 'push', false FROM people.people
                """, "withdrawn withdrawn 1 the person has switched it off"
            ),
        ] {
            let ground = try await notice()
            let channel = ScriptedChannel(.rejected(reason: "no"))
            try await ground.deliver([Provider.apns: channel])
            try await ground.run(sql)
            try await bringBack(ground)
            try await ground.deliver([Provider.apns: channel])
            #expect(channel.sent.count == 1)
            #expect(try await ground.answers().last == row)
            try await ground.run("DELETE FROM notification.preferences")
        }
    }

    @Test func `one whose other ways have led to the person is sent by its own too`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        let channel = ScriptedChannel(.rejected(reason: "no"), .rejected(reason: "still"))
        try await ground.deliver([Provider.mail: channel])
        #expect(try await ground.answers() == ["sent rejected 1 no"])
        try await bringBack(ground)
        try await ground.deliver([Provider.mail: channel])
        #expect(try await ground.answers() == ["sent rejected 2 still"])
    }

    @Test func `one that was cancelled and is brought back is sent`() async throws {
        let ground = try await notice()
        let waiting = try await ground.session.query("SELECT id FROM errand.jobs").map {
            try $0.int64(0)
        }
        _ = try await Inspector(session: ground.session).cancel(waiting, by: "ada")
        try await CloseUndelivered.withdrawCancelled(in: ground.pool, now: Date())
        #expect(try await ground.statuses() == ["withdrawn"])
        try await bringBack(ground)
        try await ground.deliver([Provider.apns: ScriptedChannel(.delivered(reply: "ok"))])
        #expect(try await ground.answers() == ["sent delivered 1 ok"])
    }

    @Test func `a job that runs again by itself does not begin its delivery anew`() async throws {
        let ground = try await notice()
        // As after a crash between the record of the answer and the end of the job.
        try await ground.run(
            "UPDATE notification.deliveries SET status = 'rejected', answered_at = now()")
        try await ground.run("UPDATE notification.notices SET status = 'failed'")
        try await ground.run("UPDATE errand.jobs SET attempt = 1")
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        try await ground.deliver([Provider.apns: channel])
        #expect(channel.sent.all.isEmpty)
        #expect(try await ground.answers() == ["failed rejected 0"])
    }

    @Test func `no token or address is written anywhere but where it belongs`() async throws {
        let ground = try await notice()
        let lines = Notebook<String>()
        let log = Log(minimum: .debug) { lines.add("\($0.message) \($0.fields)") }
        try await ground.deliver(
            [Provider.apns: ScriptedChannel(.misconfigured(reason: "bad key"))], log: log)
        let rows = try await ground.texts(
            """
            SELECT j::text FROM errand.jobs j UNION ALL
            SELECT d::text FROM notification.deliveries d UNION ALL
            SELECT n::text FROM notification.notices n
            """)
        #expect(!(lines.all + rows).contains { $0.contains("token-1") || $0.contains("ada@") })
        #expect(lines.all.contains { $0.contains("apns rejects all messages: bad key") })
    }
}
