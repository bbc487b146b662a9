import ErrandAdministration
import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Addresses that bounce", .database) struct BounceTests {
    private let bounce = DeliveryVerdict.bounced(reason: "550 go away")

    /// Sends notices, one after the other, each with its verdict.
    private func send(_ verdicts: DeliveryVerdict..., to person: Int64, in ground: Ground)
        async throws
    {
        for verdict in verdicts {
            try await ground.notify(ground.intent(TestNotices.note, person), now: Date())
            try await ground.deliver([Provider.mail: ScriptedChannel(verdict)])
        }
    }

    private func standing(_ ground: Ground) async throws -> String {
        try await ground.texts(
            """
            SELECT concat_ws(' ', cardinality(email_bounces), email_bounced_at IS NOT NULL,
                email_refused_at IS NOT NULL) FROM people.people
            """)[0]
    }

    @Test func `the third bounce in a row refuses the address`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await send(bounce, bounce, to: ada, in: ground)
        #expect(try await standing(ground) == "2 t f")
        try await send(bounce, to: ada, in: ground)
        #expect(try await standing(ground) == "3 t t")
        // The inbox is left.
        let answers = try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        #expect(answers.map(\.decision) == [.send([.inbox])])
    }

    @Test func `a mail that arrives in between begins the count anew`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await send(bounce, bounce, .delivered(reply: "ok"), to: ada, in: ground)
        #expect(try await standing(ground) == "0 f f")
        try await send(bounce, bounce, to: ada, in: ground)
        #expect(try await standing(ground) == "2 t f")
    }

    @Test func `what is no bounce neither counts nor begins anew`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await send(
            bounce, .rejected(reason: "too big"), bounce,
            .addressBusy(reason: "full", retryAfter: nil), to: ada, in: ground)
        #expect(try await standing(ground) == "2 t f")
    }

    @Test func `an address that is dead is refused at once`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await send(.addressGone(reason: "550 5.1.1", since: nil), to: ada, in: ground)
        #expect(try await standing(ground) == "0 f t")
    }

    @Test func `bounces of one moment count each, and the same notice once`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        for _ in 0..<2 {
            try await ground.notify(ground.intent(TestNotices.note, ada), now: Date())
        }
        let channel = ScriptedChannel(bounce)
        try await ground.deliver([Provider.mail: channel])
        #expect(try await standing(ground) == "2 t f")
        // As if the answer to one of them had not been written.
        try await ground.run(
            "UPDATE notification.deliveries SET status = 'pending' WHERE id % 2 = 0")
        try await ground.run("UPDATE notification.notices SET status = 'pending'")
        try await ground.hurry()
        let dead = try await ground.session.query("SELECT id FROM errand.dead_jobs").map {
            try $0.int64(0)
        }
        _ = try await Inspector(session: ground.session).retry(dead)
        try await ground.deliver([Provider.mail: channel])
        #expect(channel.sent.count > 2)
        #expect(try await standing(ground) == "2 t f")
    }

    @Test func `another address has a clean slate`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await send(bounce, bounce, bounce, to: ada, in: ground)
        try await ground.run("UPDATE people.people SET email = email, birth_date = NULL")
        #expect(try await standing(ground) == "3 t t")
        try await ground.run("UPDATE people.people SET email = 'ada@example.com'")
        #expect(try await standing(ground) == "0 f f")
        // Unless it is refused in the same breath.
        try await ground.run(
            "UPDATE people.people SET email = 'ada@example.net', email_refused_at = now()")
        #expect(try await standing(ground) == "0 f t")
    }

    @Test func `a row of full mailboxes does not open the circuit`() async throws {
        let ground = try await Ground()
        for _ in 0..<30 {
            let person = try await ground.person()
            try await ground.notify(ground.intent(TestNotices.note, person), now: Date())
        }
        try await withMailSink(["--fail", "rcpt=452 4.2.2 mailbox full"]) { sink in
            let gate = ProviderGate()
            let mail = EmailChannel(
                mailer: SMTPMailer(try SMTPSettings(url: sink.url())),
                from: try Mailbox("offers@errand.example"))
            try await ground.deliver([Provider.mail: GatedChannel(mail, through: gate)])
            #expect(gate.status == .closed)
        }
        let attempts = try await ground.number("SELECT sum(attempts) FROM notification.deliveries")
        #expect(attempts == 30)
    }
}
