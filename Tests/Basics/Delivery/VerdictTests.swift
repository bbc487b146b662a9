import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Verdicts on a server's answers") struct VerdictTests {
    @Test func `a mail that the server took is delivered, with the server's words`() async throws {
        try await withMailSink { sink in
            let verdict = try await sink.mailer().send(message())
            #expect(verdict == .delivered(reply: "250 2.0.0 kept"))
            #expect(try sink.kept().map(\.to) == [["someone@example.org"]])
            #expect(try sink.kept().map(\.from) == ["news@errand.example"])
        }
    }

    @Test(
        "an address that takes no mail is gone",
        arguments: [
            "rcpt=550 5.1.1 no such user", "rcpt=550 5.1.2 no such domain",
            "rcpt=550 5.2.1 mailbox disabled", "rcpt=553 5.1.3 no address",
            "rcpt=550 5.1.6 moved away", "rcpt=556 5.1.10 null MX", "rcpt=556 takes no mail",
            "end=550 5.1.1 no such user", "rcpt=550-5.1.1 no such user\\n550 5.1.1 ask again",
        ])
    func deadAddress(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .addressGone(_, since: nil) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
        }
    }

    @Test(
        "a refused message is rejected without blaming the address",
        arguments: [
            "data=554 5.6.0 no", "end=554 5.6.0 bad content", "end=552 5.3.4 too big",
            "mail=552 5.3.4 too big", "end=554 no", "rcpt=552 5.2.3 too long", "end=552 too big",
            "rcpt=501 what", "rcpt=554 5.5.3 too many",
        ])
    func refusedMessage(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .rejected = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test(
        "what an address refuses for good without saying that it is dead has bounced",
        arguments: [
            "rcpt=550 go away", "rcpt=552 5.2.2 over quota", "rcpt=552 over quota",
            "end=552 5.2.2 over quota", "rcpt=550 5.4.1 access denied", "rcpt=553 5.3.0 no",
            "rcpt=550 5.1.0 no", "rcpt=554 5.0.0 no",
        ])
    func bounce(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .bounced = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
        }
    }

    @Test(
        "an address that takes nothing for the moment is busy, and not its server",
        arguments: [
            "rcpt=450 busy", "rcpt=450 4.2.1 later", "rcpt=451 4.1.1 no list of users",
            "end=450 4.2.0 later",
        ])
    func busy(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .addressBusy(_, retryAfter: nil) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
        }
    }

    @Test(
        "a 4yz answer about one message defers it",
        arguments: [
            "mail=451 4.3.0 later", "rcpt=450 4.7.1 greylisted", "data=451 4.3.0 later",
            "end=451 4.3.0 later", "end=452 4.3.1 disk full",
        ])
    func transient(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .deferred(let reason, retryAfter: nil) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
            let words = try #require(rule.split(separator: "=").last)
            #expect(reason.hasPrefix(words))
            #expect(!reason.contains("may have accepted"))
        }
    }

    @Test(
        "a server that takes no mail for the moment is unavailable, whichever mail asked",
        arguments: [
            "connect=421 4.3.2 too busy", "connect=450 4.3.2 later", "ehlo=451 4.3.0 later",
            "mail=421 4.3.2 closing", "rcpt=421 4.3.2 closing", "end=421 4.3.2 closing",
        ])
    func unavailable(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .unavailable(let reason, retryAfter: nil) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
            #expect(try reason.hasPrefix(#require(rule.split(separator: "=").last)))
        }
    }

    @Test func `a full mailbox is tried again after half an hour`() async throws {
        try await withMailSink(["--fail", "rcpt=452 4.2.2 mailbox full"]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .addressBusy(_, retryAfter: .seconds(1800)) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
        }
    }

    @Test(
        "what only an operator can mend is our misconfiguration",
        arguments: [
            "connect=554 5.7.1 not from your network", "ehlo=550 5.7.1 bad name",
            "mail=530 5.7.0 log in first", "mail=550 5.1.8 sender's domain unknown",
            "mail=553 sender refused", "rcpt=550 5.7.1 reputation", "rcpt=550 5.1.7 bad sender",
            "end=550 5.7.26 unauthenticated sender",
        ])
    func misconfigured(rule: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            guard case .misconfigured(let reason) = verdict else {
                Issue.record("\(rule) gave \(verdict)")
                return
            }
            let code = try #require(rule.split(separator: "=").last?.prefix(3))
            #expect(reason.contains(code))
        }
    }

    @Test(
        "addresses that the server names are not in the verdict",
        arguments: [
            (
                "rcpt=550 5.1.1 <someone@example.org>: Recipient address rejected",
                "550 5.1.1 <address>: Recipient address rejected (at recipient)"
            ),
            (
                "rcpt=550-5.1.1 SomeOne@Example.ORG unknown,\\n550 5.1.1 (ask o'neil@example.net)",
                "550 5.1.1 <address> unknown, (ask <address>) (at recipient)"
            ),
            (
                "rcpt=450 4.2.0 to=<someone@example.org>:greylisted",
                "450 4.2.0 to=<address>:greylisted (at recipient)"
            ),
            (
                "rcpt=550 5.7.1 see https://spf.example/why?id=someone%40example.org;r=mx",
                "550 5.7.1 see https:<address>;r=mx (at recipient)"
            ),
            (
                "mail=553 5.1.8 <news@errand.example>... unknown",
                "553 5.1.8 <address>... unknown (at sender)"
            ),
            ("end=250 2.1.5 kept for someone@example.org", "250 2.1.5 kept for <address>"),
            ("end=554 5.6.0 5 < 6 > 4", "554 5.6.0 5 < 6 > 4 (at acceptance)"),
        ])
    func namedAddresses(rule: String, words: String) async throws {
        try await withMailSink(["--fail", rule]) { sink in
            let verdict = try await sink.mailer().send(message())
            #expect(verdict.reason == words)
        }
    }

    @Test func `a right password logs in, and the sink knows the user`() async throws {
        try await withMailSink(["--require-auth", "errand:s3:cret@"]) { sink in
            let mailer = try sink.mailer(user: "errand:s3%3Acret%40@")
            let verdict = try await mailer.send(message())
            #expect(verdict == .delivered(reply: "250 2.0.0 kept"))
            #expect(try sink.kept().map(\.user) == ["errand"])
        }
    }

    @Test func `a wrong password is our misconfiguration and never shown`() async throws {
        try await withMailSink(["--require-auth", "errand:secret"]) { sink in
            let verdict = try await sink.mailer(user: "errand:wrongword@").send(message())
            guard case .misconfigured(let reason) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("535 5.7.8"))
            #expect(!reason.contains("wrongword"))
        }
    }

    @Test func `no password where one is needed is our misconfiguration`() async throws {
        try await withMailSink(["--require-auth", "errand:secret"]) { sink in
            let verdict = try await sink.mailer().send(message())
            #expect(verdict == .misconfigured(reason: "530 5.7.0 log in first (at sender)"))
        }
    }

    @Test func `a login that fails for the moment makes the server unavailable`() async throws {
        let rules = ["--require-auth", "errand:secret", "--fail", "auth=454 4.7.0 no directory"]
        try await withMailSink(rules) { sink in
            let verdict = try await sink.mailer(user: "errand:secret@").send(message())
            guard case .unavailable(let reason, _) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("454 4.7.0"))
        }
    }
}
