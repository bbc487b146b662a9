import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Webhooks") struct WebhookTests {
    private static let first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let second = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()

    private func event(
        _ sink: PushSink, _ path: String = "/hook/1", id: String = "msg_1",
        secrets: [String] = [first]
    ) throws -> WebhookMessage {
        WebhookMessage(
            id: id, url: sink.url + path, body: Array(#"{"test": 1}"#.utf8),
            secrets: try secrets.map { try #require(WebhookSecret($0)) })
    }

    @Test func `the signature is that of the specification's example`() throws {
        let header = WebhookSignature.header(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8),
            secrets: [try #require(WebhookSecret(Self.first))])
        #expect(header == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(
        "a secret is 24 to 64 bytes in base64 behind whsec_",
        arguments: [
            (23, false), (24, true), (64, true), (65, false),
        ])
    func secrets(size: Int, isGood: Bool) {
        let text = Data(repeating: 1, count: size).base64EncodedString()
        #expect((WebhookSecret("whsec_" + text) != nil) == isGood)
        #expect(WebhookSecret(text) == nil)
        #expect(WebhookSecret("whsec_!" + text) == nil)
    }

    @Test func `each attempt is signed with its own time, and the id stays`() async throws {
        try await withPushSink(options: ["--hook-secret", Self.first]) { sink in
            let clock = HandClock()
            let client = sink.webhooks(clock)
            let message = try event(sink)
            #expect(await client.send(message) == .delivered(reply: "204"))
            clock.advance(minutes: 2)
            #expect(await client.send(message) == .delivered(reply: "204"))
            let requests = try sink.requests()
            let now = Int(clock.now.timeIntervalSince1970)
            #expect(requests.map(\.timestamp) == ["\(now - 120)", "\(now)"])
            #expect(requests.map(\.id) == ["msg_1", "msg_1"])
            #expect(requests.map(\.body) == [#"{"test": 1}"#, #"{"test": 1}"#])
            #expect(requests[0].signatures != requests[1].signatures)
            await client.close()
        }
    }

    @Test(
        "while a secret is changed, a receiver may know the old one or the new one",
        arguments: [first, second])
    func rotating(known: String) async throws {
        try await withPushSink(options: ["--hook-secret", known]) { sink in
            let client = sink.webhooks()
            let both = try event(sink, secrets: [Self.second, Self.first])
            #expect(await client.send(both) == .delivered(reply: "204"))
            #expect(try sink.requests()[0].signatures?.split(separator: " ").count == 2)
            await client.close()
        }
    }

    @Test func `a receiver that does not know the secret refuses, and may learn it`()
        async throws
    {
        try await withPushSink(options: ["--hook-secret", Self.second]) { sink in
            let client = sink.webhooks()
            let message = try event(sink)
            #expect(
                await client.send(message)
                    == .deferred(reason: "the endpoint answered 401", retryAfter: nil))
            await client.close()
        }
    }

    @Test(arguments: [
        ("https://me:pw@h/", true), ("https://me@h", true), ("https://@h/", true),
        ("https://h@evil?x", true), ("https://h:8443/a@b", false), ("https://h?a=@", false),
        ("https://h#@", false), ("https://h\\@x", false), ("https://h/", false),
    ])
    func `a login in a URL is found, and refused before it is sent`(
        url: String, hasLogin: Bool
    ) async throws {
        #expect(WebhookMessage.hasLogin(url) == hasLogin)
        guard hasLogin else { return }
        #expect(!WebhookMessage.isEndpoint(url, allowsPlain: true))
        let client = WebhookClient(WebhookSettings())
        let secret = try #require(WebhookSecret(Self.first))
        let message = WebhookMessage(id: "msg_1", url: url, body: [], secrets: [secret])
        #expect(
            await client.send(message)
                == .rejected(reason: "endpoint: its URL contains a login (user:password@)"))
        await client.close()
    }

    private static func deferred(_ words: String, _ seconds: Int? = nil) -> DeliveryVerdict {
        .deferred(
            reason: "the endpoint answered \(words)", retryAfter: seconds.map { .seconds($0) })
    }

    private static let table = [
        AnswerRow("200", .delivered(reply: "200")),
        AnswerRow("299", .delivered(reply: "299")),
        AnswerRow(
            "302 location=https://localhost/hook/elsewhere",
            deferred("302: redirects are not followed")),
        AnswerRow(
            "307 location=https://localhost/hook/elsewhere",
            deferred("307: redirects are not followed")),
        AnswerRow("410", .addressGone(reason: "the endpoint answered 410", since: nil)),
        AnswerRow("413", .rejected(reason: "the endpoint answered 413")),
        AnswerRow("429 retry-after=7", deferred("429", 7)),
        AnswerRow("429", deferred("429")),
        AnswerRow("502", deferred("502")),
        AnswerRow("503 retry-after=90", deferred("503", 90)),
        AnswerRow("504", deferred("504")),
        AnswerRow("400", deferred("400")),
        AnswerRow("404", deferred("404")),
        AnswerRow("500 body=secret words", deferred("500")),
    ]

    @Test func `each answer has its verdict`() async throws {
        let rules = Self.table.enumerated().map { "hook:/hook/row\($0)x=\($1.answer)" }
        try await withPushSink(rules) { sink in
            let client = sink.webhooks()
            for (number, row) in Self.table.enumerated() {
                let verdict = await client.send(try event(sink, "/hook/row\(number)x"))
                #expect(verdict == row.verdict, "after \(row.answer)")
            }
            // No redirect was followed.
            #expect(try sink.requests().count == Self.table.count)
            await client.close()
        }
    }

    @Test(
        "an endpoint that gives no answer may have accepted the event",
        arguments: ["stall", "lost", "drop"])
    func noAnswer(answer: String) async throws {
        try await withPushSink(["hook=\(answer)"]) { sink in
            let client = sink.webhooks(limit: .seconds(2))
            let verdict = await client.send(try event(sink))
            #expect(verdict.isPerhapsTaken, "\(verdict)")
            await client.close()
        }
    }

    @Test func `an endpoint that is not there is tried again later`() async throws {
        try await withPushSink { sink in
            let client = sink.webhooks()
            let message = try event(sink)
            #expect(try await sink.stop() == .exited(0))
            #expect(
                await client.send(message)
                    == .deferred(
                        reason: "the endpoint cannot be reached (connect)", retryAfter: nil))
            await client.close()
        }
    }

    @Test func `an answer is not read without end`() async throws {
        let script = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).rules")
        let rule = "hook=200 body=" + String(repeating: "x", count: 2 << 20)
        try Data(rule.utf8).write(to: script)
        defer { try? FileManager.default.removeItem(at: script) }
        try await withPushSink(options: ["--script", script.path]) { sink in
            let client = sink.webhooks()
            let message = try event(sink)
            #expect(
                await client.send(message)
                    == .deferred(reason: "the endpoint's answer is too long", retryAfter: nil))
            await client.close()
        }
    }

    @Test(
        "an address inside a private network is refused, whatever it is called",
        arguments: [
            "https://localhost:1/hook", "https://127.0.0.1:1/hook", "https://[::1]:1/hook",
            "https://10.0.0.1/hook", "https://169.254.169.254/latest", "https://192.168.1.1/",
            "https://[fd00::1]/hook", "https://0x7f000001:1/hook",
        ])
    func privateAddress(url: String) async throws {
        var settings = WebhookSettings()
        settings.requestLimit = .seconds(10)
        let client = WebhookClient(settings)
        let message = WebhookMessage(
            id: "msg_1", url: url, body: [], secrets: [try #require(WebhookSecret(Self.first))])
        #expect(
            await client.send(message) == .rejected(reason: "the endpoint's address is private"))
        await client.close()
    }

    @Test func `what nobody could take is not sent`() async throws {
        try await withPushSink { sink in
            let client = WebhookClient(WebhookSettings())
            let secret = try #require(WebhookSecret(Self.first))
            func words(
                id: String = "msg_1", url: String = "https://hooks.example/1", size: Int = 1,
                secrets: [WebhookSecret]? = nil
            ) async -> String {
                let verdict = await client.send(
                    WebhookMessage(
                        id: id, url: url, body: Array(repeating: 0x20, count: size),
                        secrets: secrets ?? [secret]))
                #expect(verdict == .rejected(reason: verdict.reason))
                return verdict.reason
            }
            #expect(await words(url: "http://hooks.example/1").hasPrefix("endpoint: expected"))
            #expect(await words(url: "ftp://hooks.example/1").hasPrefix("endpoint: expected"))
            #expect(await words(url: "https://hooks.example/a b").hasPrefix("endpoint: expected"))
            #expect(await words(id: "").hasPrefix("id: expected"))
            #expect(await words(id: "a.b").hasPrefix("id: expected"))
            #expect(await words(id: "a\r\nb").hasPrefix("id: expected"))
            #expect(await words(size: 20_000).hasPrefix("the body has 20000 bytes"))
            #expect(await words(secrets: []).hasPrefix("secrets: expected"))
            await client.close()
        }
    }
}
