import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Notices through FCM") struct FCMTests {
    @Test func `a notice arrives as it was written`() async throws {
        try await withPushSink { sink in
            let clock = HandClock()
            let client = try sink.fcm(clock)
            var message = push("fcm:token_of-any.length")
            message.collapseKey = "coupon-17"
            message.badge = 2
            message.expiresAt = clock.now.addingTimeInterval(600.5)
            let id = message.id.uuidString.lowercased()
            #expect(
                await client.send(message)
                    == .delivered(reply: "projects/errand-demo/messages/1"))
            let request = try #require(try sink.requests("fcm").first)
            #expect(request.id == id)
            let body = try #require(request.body)
            let sent = try #require(
                JSONSerialization.jsonObject(with: Data(body.utf8)) as? NSDictionary)
            #expect(
                sent == [
                    "message": [
                        "token": "fcm:token_of-any.length",
                        "notification": [
                            "title": "A coupon near you", "body": "Show it at the till.",
                        ],
                        "data": ["coupon": "17", "notification_id": id],
                        "android": [
                            "priority": "HIGH", "ttl": "600s", "collapse_key": "coupon-17",
                            "notification": ["tag": "coupon-17", "notification_count": 2],
                        ],
                    ]
                ])
            await client.close()
        }
    }

    @Test func `one without words is data alone, and a second copy has the same tag`()
        async throws
    {
        try await withPushSink { sink in
            let client = try sink.fcm()
            var message = push()
            #expect(await client.send(message).isDelivered)
            message.title = nil
            message.body = nil
            message.priority = .normal
            #expect(await client.send(message).isDelivered)
            let bodies = try sink.requests("fcm").compactMap(\.body)
            let id = message.id.uuidString.lowercased()
            #expect(bodies[0].contains(#""tag":"\#(id)""#))
            #expect(!bodies[1].contains(#""notification":"#))
            #expect(bodies[1].contains(#""priority":"NORMAL""#))
            await client.close()
        }
    }

    @Test func `what FCM would refuse is not sent`() async throws {
        try await withPushSink { sink in
            let client = try sink.fcm()
            for name in ["from", "google.x", "gcm_x"] {
                var message = push()
                message.data[name] = "x"
                #expect(
                    await client.send(message)
                        == .rejected(reason: "data: \"\(name)\" is FCM's own field"))
            }
            var message = push()
            message.body = String(repeating: "x", count: 4096)
            let verdict = await client.send(message)
            #expect(verdict == .rejected(reason: verdict.reason))
            #expect(verdict.reason.contains("4096 are allowed"))
            #expect(try sink.requests().isEmpty)
            await client.close()
        }
    }

    @Test func `many at once fetch one access token`() async throws {
        try await withPushSink(["oauth=slow 0.2"]) { sink in
            let client = try sink.fcm()
            let delivered = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask { await client.send(push(device(number))).isDelivered }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(delivered == 200)
            #expect(try sink.requests("oauth").count == 1)
            #expect(try Set(sink.requests("fcm").map(\.id)).count == 200)
            await client.close()
        }
    }

    @Test func `the access token is renewed five minutes before it ends`() async throws {
        try await withPushSink { sink in
            let clock = HandClock(minutes: -56)
            let client = try sink.fcm(clock)
            #expect(await client.send(push()).isDelivered)
            clock.advance(minutes: 54)
            #expect(await client.send(push()).isDelivered)
            #expect(try sink.requests("oauth").count == 1)
            clock.advance(minutes: 1.5)
            #expect(await client.send(push()).isDelivered)
            #expect(try sink.requests("oauth").map(\.verdict) == ["accepted", "accepted"])
            await client.close()
        }
    }

    @Test func `one that ends soon serves while no new one is to be had`() async throws {
        try await withPushSink(["oauth#1=slow 0", "oauth=503 down"]) { sink in
            let clock = HandClock(minutes: -56)
            let client = try sink.fcm(clock)
            #expect(await client.send(push()).isDelivered)
            clock.advance(minutes: 56)
            #expect(await client.send(push()).isDelivered)
            #expect(try sink.requests("oauth").map(\.status) == [200, 503])
            clock.advance(minutes: 5)
            #expect(await client.send(push()).isUnavailable)
            await client.close()
        }
    }

    @Test func `a refused access token is renewed once, and the notice sent again`() async throws {
        try await withPushSink(["fcm#1=401 UNAUTHENTICATED"]) { sink in
            let client = try sink.fcm()
            #expect(await client.send(push()).isDelivered)
            #expect(try sink.requests("oauth").count == 2)
            #expect(try sink.requests("fcm").map(\.status) == [401, 200])
            await client.close()
        }
    }

    @Test func `when the renewed one is refused too, nothing more is asked`() async throws {
        try await withPushSink(["fcm=401 UNAUTHENTICATED"]) { sink in
            let client = try sink.fcm()
            #expect(await client.send(push()).isMisconfigured)
            #expect(try sink.requests("oauth").count == 2)
            #expect(try sink.requests("fcm").count == 2)
            await client.close()
        }
    }

    @Test(
        "without an access token nothing is sent, and the reason tells whose fault it is",
        arguments: [
            ("400 invalid_grant", DeliveryVerdict.misconfigured(reason: "400 invalid_grant")),
            ("401 invalid_client", .misconfigured(reason: "401 invalid_client")),
            ("503 down retry-after=9", .unavailable(reason: "503 down", retryAfter: .seconds(9))),
            ("429 slow_down", .unavailable(reason: "429 slow_down", retryAfter: nil)),
            ("200 body={}", .unavailable(reason: "an answer without", retryAfter: nil)),
        ])
    func noToken(answer: String, expected: DeliveryVerdict) async throws {
        try await withPushSink(["oauth=\(answer)"]) { sink in
            let client = try sink.fcm()
            let verdict = await client.send(push())
            #expect(verdict.reason.hasPrefix("access token: \(expected.reason)"))
            switch (verdict, expected) {
            case (.misconfigured, .misconfigured): break
            case (.unavailable(_, let wait), .unavailable(_, let expected)):
                #expect(wait == expected)
            default: Issue.record("\(answer) gave \(verdict)")
            }
            #expect(try sink.requests("fcm").isEmpty)
            await client.close()
        }
    }

    @Test func `a token endpoint that does not answer makes the service unavailable`()
        async throws
    {
        try await withPushSink(["oauth=stall"]) { sink in
            let client = try sink.fcm(limit: .seconds(1))
            let verdict = await client.send(push())
            #expect(verdict.isUnavailable, "\(verdict)")
            await client.close()
        }
    }

    @Test(
        "what was not read is sent again at once",
        arguments: ["reset REFUSED_STREAM", "goaway Shutdown"])
    func sentAgain(answer: String) async throws {
        try await withPushSink(["fcm#1=\(answer)"]) { sink in
            let client = try sink.fcm()
            let verdict = await client.send(push())
            #expect(verdict.isDelivered, "\(verdict)")
            #expect(try sink.requests("fcm").map(\.wasAccepted) == [false, true])
            await client.close()
        }
    }

    @Test func `without an answer in time a notice may have been taken`() async throws {
        try await withPushSink(["fcm#1=late 600"]) { sink in
            let client = try sink.fcm(limit: .seconds(2))
            let message = push()
            let verdict = await client.send(message)
            #expect(verdict.isPerhapsTaken, "\(verdict)")
            #expect(await client.send(message).isDelivered)
            #expect(try Set(sink.requests("fcm").map(\.id)).count == 1)
            await client.close()
        }
    }
}
