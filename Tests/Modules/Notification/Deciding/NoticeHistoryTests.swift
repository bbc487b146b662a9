import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("What operators ask about notices", .database) struct StoryTests {
    private func notices(_ ground: Ground) -> Notices {
        Notices(session: ground.session, catalogue: TestNotices.catalogue)
    }

    @Test func `a history tells every step from the event to the answer`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        let device = try await ground.device(of: ada, "token-1", app: "survey")
        let id = try await ground.number(
            """
            SELECT notification.intend('t.near', $1, 'coupon:1', '{"title": "!"}', 'event',
                '2099-01-01Z')
            """, [.int64(ada)])
        let waiting = try #require(try await notices(ground).history(id))
        #expect(waiting.notice.status == "intended")
        #expect(waiting.steps.map(\.text) == ["recorded", "awaits a decision"])

        let channel = ScriptedChannel(
            .deferred(reason: "503", retryAfter: nil), .delivered(reply: "message 5"))
        try await ground.deliver([Provider.fcm: channel])
        let delivery = try await ground.number("SELECT id FROM notification.deliveries")
        let name = "delivery \(delivery) by fcm to device \(device)"
        let busy = try #require(try await notices(ground).history(id))
        #expect(
            busy.steps.map(\.text) == [
                "recorded", "decided to send", "\(name) begins",
                "\(name) is pending after 1 attempt: 503",
            ])
        #expect(busy.steps.last?.at == nil)
        try await ground.hurry()
        try await ground.deliver([Provider.fcm: channel])
        let history = try #require(try await notices(ground).history(id))
        #expect(
            history.steps.map(\.text) == [
                "recorded", "decided to send", "\(name) begins",
                "\(name) is delivered after 2 attempts: message 5", "ended as sent: message 5",
            ])
        #expect(history.steps.allSatisfy { $0.at != nil })
        #expect(history.notice.subject == "coupon:1")
        #expect(history.notice.personID == ada)
        #expect(history.notice.jobID != nil)
        #expect(try await notices(ground).history(id + 1) == nil)
    }

    @Test func `a history tells of what was held and merged`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person(quiet: (from: "11:00", until: "20:00"))
        for subject in ["milk", "bread"] {
            try await ground.notify(ground.intent(TestNotices.note, ada, of: subject))
        }
        let first = try await ground.number("SELECT min(id) FROM notification.notices")
        let held = try #require(try await notices(ground).history(first))
        #expect(
            held.steps.map(\.text)
                == ["recorded", "held: quiet hours until 2098-06-15T20:00:00Z", "next decision"])
        #expect(held.steps.last?.at?.description == "2098-06-15T20:00:00Z")
        try await ground.decide(now: Ground.noon.addingTimeInterval(9 * 3_600))
        let merged = try #require(try await notices(ground).history(first))
        let into = try #require(merged.notice.mergedInto)
        #expect(merged.steps.last?.text == "merged into notice \(into)")
        let digest = try #require(try await notices(ground).history(into))
        #expect(
            digest.steps.contains {
                $0.text == "decided to send, for the notices \(first), \(first + 1)"
            })
        #expect(digest.steps.contains { $0.text == "added to the inbox" })
    }

    @Test func `what was taken back while a provider took it is told as it was`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey")
        try await ground.notify(ground.intent(TestNotices.near, ada, of: "coupon:1"))
        let id = try await ground.number("SELECT id FROM notification.notices")
        let rows = NoticeRows(session: ground.session)
        try await ground.deliver([Provider.fcm: WithdrawingChannel(rows: rows, id: id)])
        let history = try #require(try await notices(ground).history(id))
        #expect(history.steps.contains { $0.text.hasSuffix("is delivered after 1 attempt: late") })
        #expect(history.notice.status == "sent")
        #expect(try await ground.number("SELECT count(*) FROM errand.audit") == 1)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM notification.notices WHERE send_decided_at IS NOT NULL") == 1)
    }

    @Test func `what would happen can be asked, and nothing happens`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person(email: nil)
        let asked = notices(ground)
        let now = Ground.noon
        #expect(
            try await asked.wouldDo(person: ada, kind: "t.near", now: now)?.decision
                == .drop("no device of the app"))
        try await ground.device(of: ada, "token", app: "survey")
        let outlook = try #require(
            try await asked.wouldDo(person: ada, kind: "t.near", now: now))
        #expect(outlook.decision == .send([.push]))
        #expect(outlook.ways.map(\.isOpen) == [true])
        try await ground.notify(ground.intent(TestNotices.near, ada, of: "coupon:1"))
        let again = try await asked.wouldDo(
            person: ada, kind: "t.near", subject: "coupon:1", now: now)
        #expect(
            again?.decision
                == .drop("notified of the same before; the cooldown ends at 2098-06-16T12:00:00Z"))
        #expect(try await asked.wouldDo(person: 999, kind: "t.near", now: now) == nil)
        await #expect(throws: JobError.self) {
            try await asked.wouldDo(person: ada, kind: "t.strange", now: now)
        }
        #expect(try await ground.statuses().count == 1)
    }
}

/// A provider that takes a notice while an operator takes it back.
private struct WithdrawingChannel: Channel {
    var rows: NoticeRows
    var id: Int64

    func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
        do {
            let results = try await rows.withdraw([id], by: "tester", reason: nil, now: Date())
            return results == [id: .withdrawn]
                ? .delivered(reply: "late") : .rejected(reason: "\(results)")
        } catch {
            return .rejected(reason: "\(error)")
        }
    }
}
