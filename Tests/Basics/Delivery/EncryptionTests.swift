import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Encryption of mail") struct EncryptionTests {
    @Test(
        "mail and login go over TLS that the authority file vouches for",
        arguments: [
            ("smtp", "?starttls=required&"), ("smtp", "?starttls=optional&"), ("smtps", "?"),
        ])
    func trusted(scheme: String, parameters: String) async throws {
        let certificate = try await Certificate(for: "localhost")
        defer { certificate.remove() }
        var options = certificate.options + ["--require-auth", "errand:secret", "--auth-needs-tls"]
        if scheme == "smtps" { options.append("--tls") }
        try await withMailSink(options) { sink in
            let mailer = try sink.mailer(
                "\(parameters)ca=\(certificate.authority)", scheme: scheme, user: "errand:secret@")
            let verdict = try await mailer.send(message())
            #expect(verdict == .delivered(reply: "250 2.0.0 kept"))
            #expect(try sink.kept().map(\.tls) == [true])
            #expect(try sink.kept().map(\.user) == ["errand"])
        }
    }

    @Test func `no mail goes in the clear when STARTTLS is required and not offered`() async throws
    {
        try await withMailSink { sink in
            let verdict = try await sink.mailer("?starttls=required").send(message())
            guard case .misconfigured(let reason) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("STARTTLS"))
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test func `mail goes in the clear when STARTTLS is optional and not offered`() async throws {
        try await withMailSink { sink in
            let verdict = try await sink.mailer("?starttls=optional").send(message())
            #expect(verdict == .delivered(reply: "250 2.0.0 kept"))
            #expect(try sink.kept().map(\.tls) == [false])
        }
    }

    @Test func `a server whose TLS is out of order for the moment is unavailable`() async throws {
        let certificate = try await Certificate(for: "localhost")
        defer { certificate.remove() }
        let rule = ["--fail", "starttls=454 4.7.0 TLS not available now"]
        try await withMailSink(certificate.options + rule) { sink in
            let verdict = try await sink.mailer("?ca=\(certificate.authority)").send(message())
            guard case .unavailable = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test(
        "a certificate that nobody vouches for stops the mail",
        arguments: [("smtp", "?starttls=required"), ("smtp", "?starttls=optional"), ("smtps", "")])
    func untrusted(scheme: String, parameters: String) async throws {
        let certificate = try await Certificate(for: "localhost")
        defer { certificate.remove() }
        let options = certificate.options + (scheme == "smtps" ? ["--tls"] : [])
        try await withMailSink(options) { sink in
            let verdict = try await sink.mailer(parameters, scheme: scheme).send(message())
            guard case .misconfigured(let reason) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("certificate"))
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test func `a certificate for another name stops the mail`() async throws {
        let certificate = try await Certificate(for: "mail.example.org")
        defer { certificate.remove() }
        try await withMailSink(certificate.options) { sink in
            let verdict = try await sink.mailer("?ca=\(certificate.authority)").send(message())
            guard case .misconfigured = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(try sink.kept().isEmpty)
        }
    }

    @Test func `an authority file that is not there is our misconfiguration`() async throws {
        let certificate = try await Certificate(for: "localhost")
        defer { certificate.remove() }
        try await withMailSink(certificate.options) { sink in
            let verdict = try await sink.mailer("?ca=/nowhere/ca.pem").send(message())
            guard case .misconfigured(let reason) = verdict else {
                Issue.record("gave \(verdict)")
                return
            }
            #expect(reason.contains("/nowhere/ca.pem"))
        }
    }

    @Test func `a password is not offered to a server that could only take it in the clear`()
        async throws
    {
        let certificate = try await Certificate(for: "localhost")
        defer { certificate.remove() }
        let options = certificate.options + ["--require-auth", "errand:secret", "--auth-needs-tls"]
        try await withMailSink(options) { sink in
            let verdict = try await sink.mailer(user: "errand:secret@").send(message())
            #expect(verdict == .misconfigured(reason: "530 5.7.0 log in first (at sender)"))
        }
    }
}
