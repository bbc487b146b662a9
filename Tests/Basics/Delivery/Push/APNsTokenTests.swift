import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Provider tokens of APNs") struct APNsTokenTests {
    @Test func `one token serves all requests until it is renewed between 45 and 50 minutes`()
        async throws
    {
        try await withPushSink { sink in
            let clock = HandClock(minutes: -51)
            let client = try sink.apns(clock)
            for _ in 0..<20 { #expect(await client.send(push()).isDelivered) }
            clock.advance(minutes: 44)
            #expect(await client.send(push()).isDelivered)
            let before = try sink.requests()
            #expect(Set(before.map(\.iat)).count == 1)
            clock.advance(minutes: 6.1)
            #expect(await client.send(push()).isDelivered)
            let made = try sink.requests().map(\.iat)
            #expect(made.last == Int(clock.now.timeIntervalSince1970))
            #expect(Set(made).count == 2)
            await client.close()
        }
    }

    @Test func `many at once make one token between them`() async throws {
        try await withPushSink(options: ["--token-pace", "600"]) { sink in
            let client = try sink.apns()
            await withTaskGroup { group in
                for _ in 0..<100 { group.addTask { _ = await client.send(push()) } }
            }
            // Two tokens made in the same second differ, for their signatures are random; on one
            // connection the second would be a change.
            #expect(try sink.requests().count { $0.wasAccepted } == 100)
            await client.close()
        }
    }

    @Test func `a change of token on a connection is what the sink counts`() async throws {
        try await withPushSink(options: ["--token-pace", "600"]) { sink in
            let clock = HandClock(minutes: -51)
            let client = try sink.apns(clock, connections: 1)
            for _ in 0..<10 { #expect(await client.send(push()).isDelivered) }
            clock.advance(minutes: 51)
            let verdict = await client.send(push())
            #expect(
                verdict
                    == .unavailable(
                        reason: "APNs: 429 TooManyProviderTokenUpdates", retryAfter: .seconds(300)))
            await client.close()
        }
    }

    @Test func `an expired token is renewed once, and the notice sent again`() async throws {
        try await withPushSink(["apns:*b#1=403 ExpiredProviderToken"]) { sink in
            let clock = HandClock(minutes: -40)
            let client = try sink.apns(clock)
            #expect(await client.send(push(device(1))).isDelivered)
            clock.advance(minutes: 25)
            #expect(await client.send(push(device(0xb))).isDelivered)
            let requests = try sink.requests()
            #expect(requests.map(\.status) == [200, 403, 200])
            #expect(requests[1].id == requests[2].id)
            #expect(requests[2].iat == Int(clock.now.timeIntervalSince1970))
            #expect(requests[0].iat == Int(clock.now.timeIntervalSince1970) - 1500)
            await client.close()
        }
    }

    @Test func `a renewed token that is refused too is our misconfiguration`() async throws {
        try await withPushSink(["apns:*b=403 ExpiredProviderToken"]) { sink in
            let clock = HandClock(minutes: -40)
            let client = try sink.apns(clock)
            #expect(await client.send(push(device(1))).isDelivered)
            clock.advance(minutes: 25)
            let verdict = await client.send(push(device(0xb)))
            #expect(
                verdict
                    == .misconfigured(
                        reason: "APNs: 403 ExpiredProviderToken: check this machine's clock"))
            #expect(try sink.requests().map(\.status) == [200, 403, 403])
            await client.close()
        }
    }

    @Test func `a token younger than 20 minutes is not renewed, whatever APNs says`() async throws {
        try await withPushSink { sink in
            // To the sink, a token of this machine's clock is two hours old when it is made.
            let clock = HandClock(minutes: -120)
            let client = try sink.apns(clock)
            #expect(await client.send(push()).isMisconfigured)
            clock.advance(minutes: 19)
            #expect(await client.send(push()).isMisconfigured)
            #expect(try sink.requests().map(\.status) == [403, 403])
            await client.close()
        }
    }

    @Test func `told of too many renewals, the client keeps its token`() async throws {
        try await withPushSink(["apns:*b#1=429 TooManyProviderTokenUpdates"]) { sink in
            let clock = HandClock(minutes: -30)
            let client = try sink.apns(clock)
            #expect(await client.send(push(device(1))).isDelivered)
            clock.advance(minutes: 25)
            #expect(await client.send(push(device(0xb))).isUnavailable)
            #expect(await client.send(push(device(0xb))).isDelivered)
            let made = try sink.requests().compactMap(\.iat)
            #expect(made.count == 2 && Set(made).count == 1)
            await client.close()
        }
    }
}
