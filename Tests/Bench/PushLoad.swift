import ErrandDelivery
import FoundationEssentials

/// Our clients of APNs and FCM as h2load is used: so many notices, so many of them at once.
enum PushLoad {
    static func run(_ flags: Flags) async throws {
        let url = try flags.text("url")
        let count = try flags.int("count")
        let senders = try flags.int("senders", 100)
        switch try flags.text("service") {
        case "apns":
            var settings = try APNsSettings(
                keyFile: flags.text("key"), keyID: "ABCDE12345", teamID: "TEAM123456", url: url,
                authorityFile: flags.path("authority"))
            settings.connections = 1
            let client = APNsClient(settings)
            try await measure(count, senders) { await client.send($0) }
            await client.close()
        case "fcm":
            var settings = try FCMSettings(
                accountFile: flags.text("key"), url: url, tokenURL: url + "/token",
                authorityFile: flags.path("authority"))
            settings.connections = 1
            let client = FCMClient(settings)
            try await measure(count, senders) { await client.send($0) }
            await client.close()
        case let other:
            throw Flags.Wrong(description: "--service \(other): expected apns or fcm")
        }
    }

    private static func measure(
        _ count: Int, _ senders: Int,
        _ send: @escaping @Sendable (PushMessage) async -> DeliveryVerdict
    ) async throws {
        // Makes the connection and the token.
        try await all(senders, by: senders, send)
        let start = monotonicNow()
        try await all(count, by: senders, send)
        report([("requests", Double(count)), ("seconds", seconds(from: start, to: monotonicNow()))])
    }

    @concurrent private static func all(
        _ count: Int, by senders: Int,
        _ send: @escaping @Sendable (PushMessage) async -> DeliveryVerdict
    ) async throws {
        try await withThrowingTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    let share = count / senders + (sender < count % senders ? 1 : 0)
                    for number in 0..<share {
                        let verdict = await send(message(sender * 1_000_000 + number))
                        guard case .delivered = verdict else {
                            throw Flags.Wrong(description: "a notice was not sent: \(verdict)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func message(_ number: Int) -> PushMessage {
        let digits = String(number, radix: 16)
        var message = PushMessage(
            id: UUID(), token: String(repeating: "0", count: 64 - digits.count) + digits,
            app: "app.example")
        message.title = "A coupon near you"
        message.body = "20 % off at the Corner Bakery, 300 m from here, until tonight."
        message.threadID = "coupons"
        message.data = ["coupon": "1234567", "branch": "42"]
        return message
    }
}
