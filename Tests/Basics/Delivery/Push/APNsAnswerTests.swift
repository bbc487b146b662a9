import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("What APNs answers") struct APNsAnswerTests {
    private static func gone(_ words: String, since: Double? = nil) -> DeliveryVerdict {
        .addressGone(
            reason: "APNs: \(words)", since: since.map { Date(timeIntervalSince1970: $0) })
    }

    private static let messageAtFault = [
        "400 BadCollapseId", "400 BadExpirationDate", "400 BadMessageId", "400 BadPriority",
        "400 BadTopic", "400 DuplicateHeaders", "400 InvalidPushType", "400 MissingDeviceToken",
        "400 MissingTopic", "400 PayloadEmpty", "400 TopicDisallowed", "404 BadPath",
        "405 MethodNotAllowed", "413 PayloadTooLarge", "400 SomethingNew",
    ].map { AnswerRow($0, .rejected(reason: "APNs: \($0)")) }

    private static let weAtFault = [
        "403 InvalidProviderToken", "403 MissingProviderToken", "403 BadCertificate",
        "403 BadCertificateEnvironment", "403 Forbidden", "403 UnrelatedKeyIdInToken",
        "403 BadEnvironmentKeyIdInToken", "403 SomethingNew",
    ].map { AnswerRow($0, .misconfigured(reason: "APNs: \($0)")) }

    private static let table =
        messageAtFault + weAtFault + [
            AnswerRow("400 BadDeviceToken", gone("400 BadDeviceToken")),
            AnswerRow("400 DeviceTokenNotForTopic", gone("400 DeviceTokenNotForTopic")),
            AnswerRow(
                "410 Unregistered timestamp=1700000000500",
                gone("410 Unregistered", since: 1_700_000_000.5)),
            AnswerRow(
                "410 ExpiredToken timestamp=1700000000000",
                gone("410 ExpiredToken", since: 1_700_000_000)),
            AnswerRow("410 Unregistered", gone("410 Unregistered")),
            AnswerRow(
                "429 TooManyRequests",
                .deferred(reason: "APNs: 429 TooManyRequests", retryAfter: nil)),
            AnswerRow(
                "429 TooManyRequests retry-after=7",
                .deferred(reason: "APNs: 429 TooManyRequests", retryAfter: .seconds(7))),
            AnswerRow(
                "429 TooManyProviderTokenUpdates",
                .unavailable(
                    reason: "APNs: 429 TooManyProviderTokenUpdates", retryAfter: .seconds(300))),
            AnswerRow(
                "500 InternalServerError",
                .unavailable(reason: "APNs: 500 InternalServerError", retryAfter: nil)),
            AnswerRow(
                "503 ServiceUnavailable retry-after=900",
                .unavailable(reason: "APNs: 503 ServiceUnavailable", retryAfter: .seconds(900))),
            AnswerRow(
                "503 Shutdown", .unavailable(reason: "APNs: 503 Shutdown", retryAfter: nil)),
            AnswerRow(
                "400 IdleTimeout", .unavailable(reason: "APNs: 400 IdleTimeout", retryAfter: nil)),
            AnswerRow("500 body=<html>", .unavailable(reason: "APNs: 500", retryAfter: nil)),
            AnswerRow("302 location=https://localhost/", .misconfigured(reason: "APNs: 302")),
        ]

    @Test func `each answer has its verdict`() async throws {
        try await check(Self.table, stage: "apns") { sink, messages in
            let client = try sink.apns()
            var verdicts: [DeliveryVerdict] = []
            for message in messages { verdicts.append(await client.send(message)) }
            await client.close()
            return verdicts
        }
    }

    @Test(
        "what was only about the connection is sent again at once, the same",
        arguments: ["400 IdleTimeout", "503 Shutdown", "reset REFUSED_STREAM", "goaway Shutdown"])
    func sentAgain(answer: String) async throws {
        try await withPushSink(["apns:*b#1=\(answer)"]) { sink in
            let client = try sink.apns()
            #expect(await client.send(push(device(1))).isDelivered)
            let message = push(device(0xb))
            let verdict = await client.send(message)
            #expect(verdict == .delivered(reply: message.id.uuidString.lowercased()))
            let requests = try sink.requests()
            #expect(requests.map(\.wasAccepted) == [true, false, true])
            #expect(requests[1].id == requests[2].id)
            await client.close()
        }
    }

    @Test func `a token of a key that APNs does not know is our misconfiguration`() async throws {
        try await withPushSink { sink in
            let client = try sink.apns(keyID: "OTHER12345")
            #expect(
                await client.send(push())
                    == .misconfigured(reason: "APNs: 403 InvalidProviderToken"))
            await client.close()
        }
    }

    @Test func `an app that the key is not for is rejected`() async throws {
        try await withPushSink(options: ["--topic", "example.other"]) { sink in
            let client = try sink.apns()
            #expect(await client.send(push()) == .rejected(reason: "APNs: 400 TopicDisallowed"))
            await client.close()
        }
    }

    @Test func `words that a provider sends are kept short, on one line, without tokens`()
        async throws
    {
        let token = device(7)
        let rule = "apns=400 body={\"reason\":\"Bad \\u000a \(token) token\"}"
        try await withPushSink([rule]) { sink in
            let client = try sink.apns()
            #expect(await client.send(push(token)) == .rejected(reason: "APNs: 400 Bad … token"))
            await client.close()
        }
    }
}
