import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Notices through APNs") struct APNsTests {
    @Test func `a notice arrives with its headers and payload`() async throws {
        try await withPushSink { sink in
            let clock = HandClock()
            let client = try sink.apns(clock)
            var message = push()
            message.collapseKey = "coupon-17"
            message.threadID = "coupons"
            message.badge = 2
            message.title = "20 % \"off\" \\ à deux pas\u{1}\n🎟️"
            message.expiresAt = clock.now.addingTimeInterval(600)
            let id = message.id.uuidString.lowercased()
            #expect(await client.send(message) == .delivered(reply: id))
            let request = try #require(try sink.requests().first)
            #expect(request.wasAccepted)
            #expect(request.token == device(1))
            #expect(request.id == id)
            #expect(request.topic == "example.errand")
            #expect(request.type == "alert")
            #expect(request.priority == "10")
            #expect(request.collapse == "coupon-17")
            #expect(request.expiration == "\(Int(clock.now.timeIntervalSince1970) + 600)")
            let body = try #require(request.body)
            let payload = try #require(
                JSONSerialization.jsonObject(with: Data(body.utf8)) as? NSDictionary)
            #expect(
                payload == [
                    "aps": [
                        "alert": ["title": message.title, "body": "Show it at the till."],
                        "badge": 2, "thread-id": "coupons",
                    ],
                    "coupon": "17", "notification_id": id,
                ])
            await client.close()
        }
    }

    @Test func `one without words wakes the app in the background, never at once`() async throws {
        try await withPushSink { sink in
            let client = try sink.apns()
            var message = push()
            message.title = nil
            message.body = nil
            message.data = [:]
            #expect(await client.send(message).isDelivered)
            let request = try #require(try sink.requests().first)
            #expect(request.type == "background")
            #expect(request.priority == "5")
            #expect(request.expiration == "")
            let id = message.id.uuidString.lowercased()
            #expect(
                request.body == #"{"aps":{"content-available":1},"notification_id":"\#(id)"}"#)
            #expect(request.collapse == id)
            await client.close()
        }
    }

    @Test func `a notice that may wait has the priority to save power`() async throws {
        try await withPushSink { sink in
            let client = try sink.apns()
            var message = push()
            message.priority = .normal
            #expect(await client.send(message).isDelivered)
            #expect(try sink.requests().map(\.priority) == ["5"])
            await client.close()
        }
    }

    @Test func `what APNs would refuse is not sent`() async throws {
        try await withPushSink { sink in
            let clock = HandClock()
            let client = try sink.apns(clock)
            func expect(
                _ words: String, isGone: Bool = false, token: String = device(1),
                app: String = "example.errand", _ change: (inout PushMessage) -> Void = { _ in }
            ) async {
                var message = PushMessage(id: UUID(), token: token, app: app)
                message.title = "t"
                change(&message)
                let verdict = await client.send(message)
                #expect(verdict.reason.contains(words), "\(verdict)")
                #expect(
                    verdict
                        == (isGone
                            ? .addressGone(reason: verdict.reason, since: nil)
                            : .rejected(reason: verdict.reason)))
            }
            await expect("4096 are allowed") { $0.body = String(repeating: "x", count: 4096) }
            await expect("1 to 64 bytes") { $0.collapseKey = String(repeating: "é", count: 33) }
            await expect("1 to 64 bytes") { $0.collapseKey = "a\r\nb" }
            await expect("1 to 64 bytes") { $0.collapseKey = "" }
            await expect("Apple's own field") { $0.data["aps"] = "x" }
            await expect("expired before") { $0.expiresAt = clock.now }
            await expect("bundle identifier", app: "")
            await expect("bundle identifier", app: "a\nb")
            await expect("token is empty", isGone: true, token: "")
            await expect("invalid characters", isGone: true, token: "../../v1?x")
            #expect(try sink.requests().isEmpty)

            var largest = push()
            largest.collapseKey = String(repeating: "é", count: 32)
            largest.body = nil
            largest.title = String(repeating: "x", count: 3900)
            #expect(await client.send(largest).isDelivered)
            await client.close()
        }
    }

    @Test func `a payload of exactly the limit is taken, one byte more is not sent`() async throws {
        try await withPushSink { sink in
            let client = try sink.apns()
            var message = push()
            message.title = ""
            #expect(await client.send(message).isDelivered)
            let size = try #require(try sink.requests().first?.body).utf8.count
            message.title = String(repeating: "x", count: 4096 - size)
            #expect(await client.send(message).isDelivered)
            #expect(try sink.requests().last?.body?.utf8.count == 4096)
            message.title? += "x"
            #expect(!(await client.send(message).isDelivered))
            #expect(try sink.requests().count == 2)
            await client.close()
        }
    }
}

extension DeliveryVerdict {
    var isDelivered: Bool { if case .delivered = self { true } else { false } }

    /// Whether it is about this message alone, which may have been taken.
    var isPerhapsTaken: Bool {
        if case .deferred(let reason, nil) = self {
            reason.contains("may have accepted")
        } else {
            false
        }
    }

    var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
    var isMisconfigured: Bool { if case .misconfigured = self { true } else { false } }
}
