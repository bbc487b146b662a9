import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("From a delivery to its provider", .database) struct ChannelTests {
    private struct Payload: Decodable {
        struct Apple: Decodable {
            struct Alert: Decodable {
                var title: String
                var body: String
            }
            var alert: Alert
            var threadID: String

            enum CodingKeys: String, CodingKey {
                case alert
                case threadID = "thread-id"
            }
        }
        var aps: Apple
        var kind: String
        var notice_id: String
        var subject: String?
        var data: String?
    }

    private func apns(_ sink: PushSink) throws -> PushChannel {
        PushChannel(
            APNsClient(
                try APNsSettings(
                    keyFile: sink.credentials.keyFile, keyID: "ABCDE12345", teamID: "TEAM123456",
                    url: sink.url, authorityFile: sink.credentials.authority)))
    }

    private func fcm(_ sink: PushSink) throws -> PushChannel {
        PushChannel(
            FCMClient(
                try FCMSettings(
                    accountFile: sink.credentials.accountFile, url: sink.url,
                    tokenURL: sink.url + "/token", authorityFile: sink.credentials.authority)))
    }

    private func payload(_ request: PushSink.Request) throws -> Payload {
        try JSONDecoder().decode(Payload.self, from: Data(try #require(request.body).utf8))
    }

    private static let token = String(repeating: "ab", count: 32)

    @Test(
        "a push carries what the app needs, at the priority of its kind",
        arguments: [
            (NoticeKind.Urgency.urgent, "10"), (.normal, "10"), (.promotional, "5"),
        ])
    func carries(urgency: NoticeKind.Urgency, priority: String) async throws {
        var kind = TestNotices.near
        kind.urgency = urgency
        let (ground, changed) = (try await Ground(), kind)
        let catalogue = NoticeCatalogue([changed], wording: PlainWording())
        let ada = try await ground.person()
        try await ground.device(of: ada, Self.token, app: "survey", platform: "apns")
        let expiry = Instant("2098-07-01T12:00:00Z")
        let intent = ground.intent(changed, ada, expires: try #require(expiry))
        try await ground.notify(intent, now: Date())
        try await withPushSink { sink in
            var kinds = JobKinds()
            Deliveries(catalogue, channels: [Provider.apns: try apns(sink)]).add(to: &kinds)
            _ = try await TestWorker.drain(kinds, queues: [.init("apns")])
            let request = try #require(try sink.requests("apns").first)
            #expect(request.wasAccepted)
            #expect(request.priority == priority)
            #expect(request.type == "alert")
            #expect(request.topic == "org.example.app")
            #expect(request.expiration == "4055054400")
            let replies = try await ground.texts("SELECT reply FROM notification.deliveries")
            #expect(replies == [request.id])
            let collapse = try await ground.texts(
                "SELECT md5(kind || ' ' || subject) FROM notification.notices")
            #expect(collapse == [request.collapse])
            let payload = try payload(request)
            #expect(payload.aps.alert.title == "subject")
            #expect(payload.aps.alert.body == "t.near by push")
            #expect(payload.aps.threadID == "t.near")
            #expect(payload.kind == "t.near")
            let number = try await ground.number("SELECT id FROM notification.notices")
            #expect(payload.notice_id == "\(number)")
            #expect(payload.subject == "subject")
            #expect(payload.data == #"{"title": "subject"}"#)
        }
    }

    @Test func `facts that would not fit are left to the inbox`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, Self.token, app: "survey", platform: "apns")
        try await ground.device(of: ada, "android-1", app: "survey", platform: "fcm")
        var intent = ground.intent(TestNotices.near, ada)
        let long = String(repeating: "\\\"", count: 600)
        intent.data = [UInt8](#"{"title": "t", "extra": "\#(long)"}"#.utf8)
        try await ground.notify(intent, now: Date())
        try await withPushSink { sink in
            try await ground.deliver([
                Provider.apns: try apns(sink), Provider.fcm: try fcm(sink),
            ])
            let request = try #require(try sink.requests("apns").first)
            #expect(request.wasAccepted)
            #expect(try payload(request).data == nil)
            #expect(try sink.requests("fcm").map(\.wasAccepted) == [true])
        }
    }

    @Test func `a device of the development builds is told of by its environment`() async throws {
        // Both of Apple's hosts are one here: only that it is taken can be seen.
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, Self.token, app: "survey", platform: "apns")
        try await ground.run("UPDATE notification.devices SET environment = 'development'")
        try await ground.notify(ground.intent(TestNotices.near, ada), now: Date())
        try await withPushSink { sink in
            try await ground.deliver([Provider.apns: try apns(sink)])
            #expect(try sink.requests("apns").map(\.wasAccepted) == [true])
        }
    }

    /// People with a device each, and a notice on its way to all of them.
    private func crowd(_ count: Int) async throws -> Ground {
        let ground = try await Ground()
        for number in 0..<count {
            let person = try await ground.person()
            try await ground.device(of: person, "token-\(number)", app: "survey", platform: "apns")
            try await ground.notify(ground.intent(TestNotices.near, person), now: Date())
        }
        return ground
    }

    @Test func `while a circuit is open its deliveries wait, uncounted and each for its own time`()
        async throws
    {
        let ground = try await crowd(40)
        let channel = ScriptedChannel(.unavailable(reason: "down", retryAfter: .seconds(600)))
        let gated = GatedChannel(channel, through: ProviderGate())
        try await ground.deliver([Provider.apns: gated])
        let asked = channel.sent.count
        // Those that were on their way when it opened, at most.
        #expect(asked <= 40)
        try await ground.hurry()
        try await ground.deliver([Provider.apns: gated])
        #expect(channel.sent.count == asked)
        let waiting = try await ground.number(
            """
            SELECT count(*) FROM errand.jobs
            WHERE attempt = 0 AND run_at BETWEEN now() + interval '500 seconds'
                AND now() + interval '900 seconds'
            """)
        #expect(waiting == 40)
        let times = try await ground.number("SELECT count(DISTINCT run_at) FROM errand.jobs")
        #expect(times > 20)
        let replies = try await ground.texts(
            "SELECT DISTINCT reply FROM notification.deliveries WHERE attempts = 0")
        #expect(replies == ["waits for the provider: down"])
    }

    @Test func `others wait for the answer to the probe, and go on with it`() async throws {
        var settings = Circuit.Settings()
        settings.firstWait = .milliseconds(20)
        settings.failures = 1
        let channel = ScriptedChannel(
            .unavailable(reason: "down", retryAfter: nil), .delivered(reply: "ok"))
        let gated = GatedChannel(channel, through: ProviderGate(Circuit(settings)))
        let ground = try await crowd(1)
        try await ground.deliver([Provider.apns: gated])
        let others = try await crowd(20)
        try await others.deliver([Provider.apns: gated])
        let open = try await others.number(
            "SELECT count(*) FROM notification.deliveries WHERE status <> 'delivered'")
        // The first of them all waits for its own time.
        #expect(open == 1)
    }

    @Test func `a rate makes them go one after the other, and none is put back`() async throws {
        let ground = try await crowd(20)
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        let rate = RateLimit(perSecond: 100, burst: 1)
        let gated = GatedChannel(channel, through: ProviderGate(rate: rate))
        let summary = try await ground.deliver([Provider.apns: gated])
        #expect(summary.snoozed == 0)
        #expect(channel.sent.count == 20)
    }

    @Test func `a rate that is too slow for them puts the others back`() async throws {
        let ground = try await crowd(3)
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        let rate = RateLimit(perSecond: 0.001, burst: 1)
        let gated = GatedChannel(channel, through: ProviderGate(rate: rate))
        let summary = try await ground.deliver([Provider.apns: gated])
        #expect(summary.completed == 1)
        #expect(summary.snoozed == 2)
        let replies = try await ground.texts(
            "SELECT DISTINCT reply FROM notification.deliveries WHERE status = 'pending'")
        #expect(replies == ["delayed by the rate limit"])
    }

    /// A road on which every notice expires.
    private struct LongRoad: Channel {
        var next: any Channel

        func send(_ outgoing: OutboundMessage) async -> DeliveryVerdict {
            while Date() < outgoing.expiresAt { try? await Task.sleep(for: .milliseconds(20)) }
            return await next.send(outgoing)
        }
    }

    @Test func `what expires while it waits for its turn is recorded as expired`() async throws {
        let ground = try await crowd(1)
        try await ground.run(
            "UPDATE notification.notices SET expires_at = now() + interval '2 seconds'")
        let channel = ScriptedChannel(.delivered(reply: "ok"))
        let gated = LongRoad(next: GatedChannel(channel, through: ProviderGate()))
        try await ground.deliver([Provider.apns: gated])
        try await ground.hurry()
        try await ground.deliver([Provider.apns: gated])
        #expect(channel.sent.count == 0)
        #expect(try await ground.statuses() == ["expired"])
        let dead = try await ground.number(
            "SELECT count(*) FROM errand.finished_jobs WHERE outcome = 'dead'")
        #expect(dead == 0)
    }
}
