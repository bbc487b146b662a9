import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("What FCM answers") struct FCMAnswerTests {
    private static func unavailable(_ words: String, _ seconds: Int?) -> DeliveryVerdict {
        .unavailable(reason: "FCM: \(words)", retryAfter: seconds.map { .seconds($0) })
    }

    private static func deferred(_ words: String, _ seconds: Int) -> DeliveryVerdict {
        .deferred(reason: "FCM: \(words)", retryAfter: .seconds(seconds))
    }

    private static func gone(_ words: String, since: Date? = nil) -> DeliveryVerdict {
        .addressGone(reason: "FCM: \(words)", since: since)
    }

    private static let clock = HandClock()

    private static let table = [
        AnswerRow(
            "400 INVALID_ARGUMENT violation=message.data",
            .rejected(reason: "FCM: 400 INVALID_ARGUMENT (message.data)")),
        AnswerRow("400 INVALID_ARGUMENT", gone("400 INVALID_ARGUMENT")),
        AnswerRow(
            "400 INVALID_ARGUMENT violation=message.token",
            gone("400 INVALID_ARGUMENT (message.token)")),
        AnswerRow(
            #"400 body={"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
            .rejected(reason: "FCM: 400 INVALID_ARGUMENT")),
        AnswerRow("404 UNREGISTERED", gone("404 UNREGISTERED", since: clock.now)),
        AnswerRow("403 SENDER_ID_MISMATCH", gone("403 SENDER_ID_MISMATCH")),
        AnswerRow(
            "401 THIRD_PARTY_AUTH_ERROR",
            .misconfigured(reason: "FCM: 401 THIRD_PARTY_AUTH_ERROR")),
        AnswerRow("401 UNAUTHENTICATED", .misconfigured(reason: "FCM: 401 UNAUTHENTICATED")),
        AnswerRow("403 PERMISSION_DENIED", .misconfigured(reason: "FCM: 403 PERMISSION_DENIED")),
        AnswerRow("404 NOT_FOUND", .misconfigured(reason: "FCM: 404 NOT_FOUND")),
        AnswerRow("302 location=https://localhost/", .misconfigured(reason: "FCM: 302 ")),
        AnswerRow("429 QUOTA_EXCEEDED", unavailable("429 QUOTA_EXCEEDED", 60)),
        AnswerRow("429 QUOTA_EXCEEDED retry-after=7", unavailable("429 QUOTA_EXCEEDED", 7)),
        AnswerRow("429 QUOTA_EXCEEDED quota=device", deferred("429 QUOTA_EXCEEDED", 60)),
        AnswerRow(
            "429 QUOTA_EXCEEDED quota=device retry-after=7", deferred("429 QUOTA_EXCEEDED", 7)),
        AnswerRow(
            "429 QUOTA_EXCEEDED quota=project retry-after=7", unavailable("429 QUOTA_EXCEEDED", 60)
        ),
        AnswerRow(
            "429 QUOTA_EXCEEDED quota=topic retry-after=90", unavailable("429 QUOTA_EXCEEDED", 90)),
        AnswerRow("503 UNAVAILABLE retry-after=30", unavailable("503 UNAVAILABLE", 30)),
        AnswerRow("503 UNAVAILABLE", unavailable("503 UNAVAILABLE", nil)),
        AnswerRow("500 INTERNAL", unavailable("500 INTERNAL", nil)),
        AnswerRow("500 UNSPECIFIED_ERROR", unavailable("500 UNSPECIFIED_ERROR", nil)),
        AnswerRow("502 body=<html>", unavailable("502 ", nil)),
        AnswerRow("418 SOMETHING_NEW", .rejected(reason: "FCM: 418 SOMETHING_NEW")),
    ]

    @Test func `each answer has its verdict`() async throws {
        try await check(Self.table, stage: "fcm") { sink, messages in
            let client = try sink.fcm(Self.clock)
            var verdicts: [DeliveryVerdict] = []
            for message in messages { verdicts.append(await client.send(message)) }
            await client.close()
            return verdicts
        }
    }

    @Test(
        "a wait may be told as a date",
        arguments: [(120, 120), (-50, 0), (10_000_000, 86_400)])
    func date(seconds: Int, wait: Int) async throws {
        let clock = HandClock()
        let date = clock.now.addingTimeInterval(Double(seconds))
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE,_dd_MMM_yyyy_HH:mm:ss_'GMT'"
        let rule = "fcm=503 UNAVAILABLE retry-after=\(format.string(from: date))"
        try await withPushSink([rule]) { sink in
            let client = try sink.fcm(clock)
            #expect(await client.send(push()) == Self.unavailable("503 UNAVAILABLE", wait))
            await client.close()
        }
    }

    @Test(
        "a wait that makes no sense is left out",
        arguments: ["soon", "-5", "1.5", "Sun,_31_Foo_2094_08:49:37_GMT", "Sunday"])
    func nonsense(header: String) async throws {
        try await withPushSink(["fcm=503 UNAVAILABLE retry-after=\(header)"]) { sink in
            let client = try sink.fcm()
            #expect(await client.send(push()) == Self.unavailable("503 UNAVAILABLE", nil))
            await client.close()
        }
    }
}
