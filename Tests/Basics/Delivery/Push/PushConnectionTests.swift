import ErrandDelivery
import Foundation
import ErrandHTTP
import ErrandTestServices
import Testing

@Suite("Connections to a push service") struct PushConnectionTests {
    /// Sends one notice to each device at once.
    private func sendAll(
        _ client: APNsClient, _ messages: [PushMessage]
    ) async -> [DeliveryVerdict] {
        await withTaskGroup(of: DeliveryVerdict.self) { group in
            for message in messages { group.addTask { await client.send(message) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `hundreds at once share one connection`() async throws {
        try await withPushSink(options: ["--one-first"]) { sink in
            let client = try sink.apns(connections: 1)
            let verdicts = await sendAll(client, (0..<300).map { push(device($0)) })
            #expect(verdicts.count { $0.isDelivered } == 300)
            let requests = try sink.requests()
            #expect(Set(requests.map(\.connection)).count == 1)
            #expect(Set(requests.map(\.token)).count == 300)
            #expect(Set(requests.map(\.id)).count == 300)
            await client.close()
        }
    }

    @Test func `a server that goes away is left in the middle, and nothing is lost or doubled`()
        async throws
    {
        let rules = ["apns:*50#1=goaway Shutdown", "apns:*90#1=goaway Shutdown"]
        try await withPushSink(rules) { sink in
            let client = try sink.apns(connections: 1)
            let messages = (0..<200).map { push(device($0)) }
            // What was being written when the connection closed may have been taken, for all that
            // the client knows; it goes again with the same id.
            for _ in 0..<3 {
                let taken = try Set(sink.requests().filter(\.wasAccepted).compactMap(\.token))
                let left = messages.filter { !taken.contains($0.token.revealed) }
                let verdicts = await sendAll(client, left)
                let others = verdicts.filter { !$0.isDelivered && !$0.isPerhapsTaken }
                #expect(others.isEmpty)
            }
            let requests = try sink.requests()
            let accepted = requests.filter(\.wasAccepted)
            #expect(accepted.count == 200)
            #expect(Set(accepted.map(\.id)).count == 200)
            #expect(Set(requests.map(\.connection)).count > 1)
            await client.close()
        }
    }

    @Test func `a server that allows few at once gets no more, and all arrive`() async throws {
        try await withPushSink(options: ["--streams", "5"]) { sink in
            let client = try sink.apns(connections: 1)
            let verdicts = await sendAll(client, (0..<100).map { push(device($0)) })
            #expect(verdicts.count { $0.isDelivered } == 100)
            #expect(try Set(sink.requests().map(\.connection)).count == 1)
            await client.close()
        }
    }

    @Test(
        "without an answer in time a notice may have been taken, and goes again with the same id",
        arguments: [("late 600", true), ("stall", false)])
    func noAnswer(answer: String, wasTaken: Bool) async throws {
        try await withPushSink(["apns:*b#1=\(answer)"]) { sink in
            let client = try sink.apns(limit: .seconds(2))
            let message = push(device(0xb))
            let verdict = await client.send(message)
            #expect(verdict.isPerhapsTaken, "\(verdict)")
            #expect(await client.send(message).isDelivered)
            let requests = try sink.requests()
            #expect(requests.map(\.wasAccepted) == [wasTaken, true])
            #expect(Set(requests.map(\.id)) == [message.id.uuidString.lowercased()])
            #expect(Set(requests.map(\.collapse)) == [message.id.uuidString.lowercased()])
            await client.close()
        }
    }

    @Test(
        "what breaks before an answer may have been taken, and goes again with the same id",
        arguments: ["lost", "drop", "reset INTERNAL_ERROR"])
    func broken(answer: String) async throws {
        try await withPushSink(["apns:*b=\(answer)"]) { sink in
            let client = try sink.apns()
            let message = push(device(0xb))
            let verdict = await client.send(message)
            #expect(verdict.isPerhapsTaken, "\(verdict)")
            #expect(try Set(sink.requests().map(\.id)).count == 1)
            #expect(await client.send(push(device(1))).isDelivered)
            await client.close()
        }
    }

    @Test func `a server that refuses again and again takes nothing, and is asked once more`()
        async throws
    {
        let rules = ["apns:*b#9=reset REFUSED_STREAM", "apns:*c=reset REFUSED_STREAM"]
        try await withPushSink(rules) { sink in
            let client = try sink.apns()
            #expect(await client.send(push(device(1))).isDelivered)
            let late = await client.send(push(device(0xb)))
            #expect(late.isDelivered, "\(late)")
            let never = await client.send(push(device(0xc)))
            #expect(never.isUnavailable, "\(never)")
            let accepted = try sink.requests().filter(\.wasAccepted).compactMap(\.token)
            #expect(accepted == [device(1), device(0xb)])
            await client.close()
        }
    }

    @Test func `one notice that hangs does not hold up the others`() async throws {
        try await withPushSink(["apns:*b=stall"]) { sink in
            let client = try sink.apns(limit: .seconds(600), connections: 1)
            #expect(await client.send(push(device(1))).isDelivered)
            let hanging = Task { await client.send(push(device(0xb))) }
            for _ in 0..<50 { #expect(await client.send(push(device(1))).isDelivered) }
            hanging.cancel()
            guard case .deferred = await hanging.value else {
                Issue.record("a hanging notice was not deferred")
                return
            }
            await client.close()
        }
    }

    @Test func `a server that is down is unavailable`() async throws {
        try await withPushSink { sink in
            let apns = try sink.apns()
            let fcm = try sink.fcm()
            #expect(try await sink.stop() == .exited(0))
            let verdicts = [await apns.send(push()), await fcm.send(push())]
            let areUnavailable = verdicts.allSatisfy(\.isUnavailable)
            #expect(areUnavailable, "\(verdicts)")
            await apns.close()
            await fcm.close()
        }
    }

    @Test func `a server that nobody vouches for gets nothing, not even a token`() async throws {
        try await withPushSink { sink in
            let keys = sink.credentials
            let apns = APNsClient(
                try APNsSettings(
                    keyFile: keys.keyFile, keyID: "ABCDE12345", teamID: "TEAM123456",
                    url: sink.url))
            let fcm = FCMClient(
                try FCMSettings(
                    accountFile: keys.accountFile, url: sink.url, tokenURL: sink.url + "/token"))
            let verdicts = [await apns.send(push()), await fcm.send(push())]
            let areMisconfigured = verdicts.allSatisfy(\.isMisconfigured)
            #expect(areMisconfigured, "\(verdicts)")
            #expect(try sink.requests().isEmpty)
            await apns.close()
            await fcm.close()
        }
    }

    @Test func `failures at random leave each notice with a verdict, and none taken twice`()
        async throws
    {
        let options = [
            "--random", "0.2", "--seed", "7", "--random-answers",
            "500 InternalServerError,503 ServiceUnavailable,reset REFUSED_STREAM,slow 0.1",
        ]
        try await withPushSink(options: options) { sink in
            let client = try sink.apns()
            var left = (0..<500).map { push(device($0)) }
            for _ in 0..<20 where !left.isEmpty {
                left = await withTaskGroup(of: PushMessage?.self) { group in
                    for message in left {
                        group.addTask { await client.send(message).isDelivered ? nil : message }
                    }
                    return await group.reduce(into: []) { if let left = $1 { $0.append(left) } }
                }
            }
            #expect(left.isEmpty)
            let accepted = try sink.requests().filter(\.wasAccepted)
            #expect(accepted.count == 500)
            #expect(Set(accepted.map(\.id)).count == 500)
            await client.close()
        }
    }
}
