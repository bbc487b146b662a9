import ErrandDelivery
import Foundation
import Synchronization
import ErrandTestServices
import Testing

/// A clock that stands still until it is moved.
final class HandClock: Sendable {
    private let time: Mutex<Date>

    /// Begins so many minutes before or after the present, at a whole second.
    init(minutes: Double = 0) {
        let now = Date().timeIntervalSince1970.rounded(.down)
        time = Mutex(Date(timeIntervalSince1970: now + minutes * 60))
    }

    var now: Date { time.withLock { $0 } }
    func advance(minutes: Double) { time.withLock { $0.addTimeInterval(minutes * 60) } }
}

/// A device's token as APNs gives them: 64 hexadecimal digits, the same for the same number.
func device(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "c0ffee" + String(repeating: "0", count: 58 - digits.count) + digits
}

/// A notice for a device; each has its own identifier.
func push(_ token: String = device(1), id: UUID = UUID()) -> PushMessage {
    var message = PushMessage(id: id, token: token, app: "example.errand")
    message.title = "A coupon near you"
    message.body = "Show it at the till."
    message.data = ["coupon": "17"]
    return message
}

extension PushSink {
    func apns(
        _ clock: HandClock = HandClock(), keyID: String = "ABCDE12345", limit: Duration? = nil,
        connections: Int = 2
    ) throws -> APNsClient {
        var settings = try APNsSettings(
            keyFile: credentials.keyFile, keyID: keyID, teamID: "TEAM123456", url: url,
            authorityFile: credentials.authority)
        if let limit { settings.requestLimit = limit }
        settings.connections = connections
        return APNsClient(settings) { clock.now }
    }

    func fcm(_ clock: HandClock = HandClock(), limit: Duration? = nil) throws -> FCMClient {
        var settings = try FCMSettings(
            accountFile: credentials.accountFile, url: url, tokenURL: url + "/token",
            authorityFile: credentials.authority)
        if let limit { settings.requestLimit = limit }
        return FCMClient(settings) { clock.now }
    }

    func webhooks(_ clock: HandClock = HandClock(), limit: Duration? = nil) -> WebhookClient {
        var settings = WebhookSettings()
        settings.authorityFile = credentials.authority
        settings.allowsPrivateAddresses = true
        if let limit { settings.requestLimit = limit }
        return WebhookClient(settings) { clock.now }
    }
}

/// One row of a provider's table: what the provider says, and what that means to us.
struct AnswerRow: Sendable {
    let answer: String
    let verdict: DeliveryVerdict

    init(_ answer: String, _ verdict: DeliveryVerdict) {
        self.answer = answer
        self.verdict = verdict
    }
}

/// Asks one sink for every row, each by a device of its own, and compares the verdicts.
func check(
    _ rows: [AnswerRow], stage: String,
    _ send: (PushSink, [PushMessage]) async throws -> [DeliveryVerdict]
) async throws {
    let names = rows.indices.map { "row\($0)x" }
    let rules = zip(names, rows).map { "\(stage):\($0)=\($1.answer)" }
    try await withPushSink(rules) { sink in
        let verdicts = try await send(sink, names.map { push($0) })
        for (row, verdict) in zip(rows, verdicts) {
            #expect(verdict == row.verdict, "after \(row.answer)")
        }
        // Each answer came from the sink, and none of another row's rule.
        let asked = try sink.requests(stage)
        #expect(Set(asked.compactMap(\.token)) == Set(names))
    }
}
