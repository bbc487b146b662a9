import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Connections to a mail server") struct ConnectionTests {
    @Test func `many mails travel over one connection`() async throws {
        try await withMailSink { sink in
            let mailer = try sink.mailer()
            for _ in 0..<50 {
                #expect(await mailer.send(try message()) == .delivered(reply: "250 2.0.0 kept"))
            }
            #expect(try sink.kept().map(\.connection) == Array(repeating: 1, count: 50))
        }
    }

    @Test func `a crowd of mails opens no more connections than allowed and loses none`()
        async throws
    {
        try await withMailSink { sink in
            let mailer = try sink.mailer(connections: 3)
            let delivered = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    let mail = try message(to: "person\(number)@example.org")
                    group.addTask {
                        await mailer.send(mail) == .delivered(reply: "250 2.0.0 kept")
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(delivered == 200)
            let kept = try sink.kept()
            #expect(Set(kept.flatMap(\.to)).count == 200)
            #expect(Set(kept.map(\.connection)).count <= 3)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a mail that hangs does not hold up the others`() async throws {
        try await withMailSink(["--fail", "rcpt:slow@*=slow 600"]) { sink in
            let mailer = try sink.mailer(connections: 2, transferLimit: .seconds(600))
            let slow = try message(to: "slow@example.org")
            let hanging = Task { await mailer.send(slow) }
            for _ in 0..<5 {
                #expect(await mailer.send(try message()) == .delivered(reply: "250 2.0.0 kept"))
            }
            hanging.cancel()
            guard case .deferred = await hanging.value else {
                Issue.record("a hanging mail was not deferred")
                return
            }
            #expect(try sink.kept().count == 5)
        }
    }

    @Test func `a refused mail does not spoil the next one`() async throws {
        try await withMailSink(["--fail", "rcpt:nobody@*=550 5.1.1 no such user"]) { sink in
            let mailer = try sink.mailer(connections: 1)
            for _ in 0..<3 {
                let refused = await mailer.send(try message(to: "nobody@example.org"))
                guard case .addressGone = refused else {
                    Issue.record("gave \(refused)")
                    return
                }
                #expect(await mailer.send(try message()) == .delivered(reply: "250 2.0.0 kept"))
            }
            #expect(try sink.kept().count == 3)
        }
    }

    @Test func `a kept connection that the server gives up is opened anew in silence`()
        async throws
    {
        let rule = "mail:second@*#1=421 4.4.2 idle too long"
        try await withMailSink(["--fail", rule]) { sink in
            let mailer = try sink.mailer()
            let first = await mailer.send(try message(from: "first@errand.example"))
            let second = await mailer.send(try message(from: "second@errand.example"))
            #expect([first, second].map(\.reason) == ["250 2.0.0 kept", "250 2.0.0 kept"])
            #expect(try sink.kept().map(\.connection) == [1, 2])
        }
    }

    @Test
    func
        `after the final dot a lost connection may have delivered, and a retry is the same mail`()
        async throws
    {
        try await withMailSink(["--fail", "end#1=drop"]) { sink in
            let mailer = try sink.mailer()
            let mail = try message()
            let verdict = await mailer.send(mail)
            guard case .deferred(let reason, _) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("may have accepted"))
            #expect(try sink.kept().count == 1)
            #expect(await mailer.send(mail) == .delivered(reply: "250 2.0.0 kept"))
            let copies = try sink.kept()
            #expect(copies.map(\.message_id) == [mail.messageID, mail.messageID])
            #expect(try sink.content(of: copies[0]) == sink.content(of: copies[1]))
        }
    }

    @Test(
        "a connection lost before the final dot tells of the server, and nothing was taken",
        arguments: ["connect=drop", "ehlo=drop", "mail=drop", "rcpt=drop", "data=drop"])
    func lost(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .unavailable(let reason, _) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
            #expect(!reason.contains("may have accepted"))
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test func `a server that is down is unavailable`() async throws {
        try await withMailSink { sink in
            let mailer = try sink.mailer()
            #expect(try await sink.stop() == .exited(0))
            guard case .unavailable = await mailer.send(try message()) else {
                Issue.record("the server was not unavailable")
                return
            }
        }
    }

    @Test func `a server that is not to be found is unavailable`() async throws {
        let settings = try SMTPSettings(
            url: "smtp://mail.invalid:25?starttls=never", connectLimit: .seconds(5))
        let verdict = await SMTPMailer(settings).send(try message())
        guard case .unavailable = verdict else {
            Issue.record("gave \(verdict)")
            return
        }
    }

    @Test(
        "a mail slower than the time limit may be delivered only after the final dot",
        arguments: [("connect", false), ("rcpt", false), ("end", true)])
    func slow(stage: String, isAmbiguous: Bool) async throws {
        try await withMailSink(["--fail", "\(stage)=slow 600"]) { sink in
            let mailer = try sink.mailer(transferLimit: .milliseconds(500))
            let verdict = await mailer.send(try message())
            let reason = verdict.reason
            #expect(
                verdict
                    == (stage == "connect"
                        ? .unavailable(reason: reason, retryAfter: nil)
                        : .deferred(reason: reason, retryAfter: nil)))
            #expect(reason.contains("may have accepted") == isAmbiguous)
            #expect(try sink.kept().count == (isAmbiguous ? 1 : 0))
        }
    }

    @Test func `cancelling ends a mail on its way and one that waits its turn`() async throws {
        try await withMailSink(["--fail", "ehlo=slow 600"]) { sink in
            let mailer = try sink.mailer(connections: 1, transferLimit: .seconds(300))
            let mails = [try message(), try message()]
            let sending = mails.map { mail in Task { await mailer.send(mail) } }
            for task in sending { task.cancel() }
            for task in sending {
                guard case .deferred = await task.value else {
                    Issue.record("a cancelled mail was not deferred")
                    return
                }
            }
            #expect(try sink.kept().isEmpty)
        }
    }
}
