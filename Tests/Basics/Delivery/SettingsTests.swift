import ErrandDelivery
import Testing

@Suite("Mail server settings") struct SettingsTests {
    @Test(
        "a URL says which server, how encrypted and as whom; the password stays hidden",
        arguments: [
            ("smtp://mail.example.org", "smtp://mail.example.org:587?starttls=required"),
            ("smtps://mail.example.org", "smtps://mail.example.org:465"),
            (
                "smtp://me%40here:pa%3Ass@mail.example.org:2525/",
                "smtp://me@here:***@mail.example.org:2525?starttls=required"
            ),
            ("smtp://localhost:25?starttls=never", "smtp://localhost:25?starttls=never"),
            ("SMTP://[::1]:25?starttls=optional", "smtp://[::1]:25?starttls=optional"),
            (
                "smtps://mail.example.org?ca=/etc/ca.pem&hello=app.example.org",
                "smtps://mail.example.org:465"
            ),
        ])
    func accepted(url: String, shown: String) throws {
        #expect(try SMTPSettings(url: url).description == shown)
    }

    @Test(
        "a bad URL is refused with its value, what was expected, and no password",
        arguments: [
            ("", "smtp://user:password@host:port"),
            ("http://mail.example.org", "smtp://user:password@host:port"),
            ("mail.example.org:25", "smtp://user:password@host:port"),
            ("smtp://", "a host name"),
            ("smtp://user:hunter2@", "a host name"),
            ("smtp://mail.example.org:0", "a port from 1 to 65535"),
            ("smtp://mail.example.org:99999", "a port from 1 to 65535"),
            ("smtp://mail.example.org/inbox", "nothing between"),
            ("smtp://mail.example.org?starttls=maybe", "starttls=required, optional or never"),
            ("smtps://mail.example.org?starttls=never", "no parameter \"starttls\""),
            ("smtp://mail.example.org?tls=on", "no parameter \"tls\""),
            ("smtp://mail.example.org?ca=ca.pem", "the absolute path"),
            ("smtp://mail.example.org?hello=a%0D%0Ab", "a host name"),
            ("smtp://user@mail.example.org", "user:password"),
            ("smtp://user:hunter2%0A@mail.example.org", "without control characters"),
            (
                "smtp://user:hunter2@mail.example.org?starttls=never",
                "must not be sent in the clear"
            ),
            (
                "smtp://user:hunter2@mail.example.org?starttls=optional",
                "must not be sent in the clear"
            ),
            (
                "smtp://user:hunter2@127.evil.example?starttls=never",
                "must not be sent in the clear"
            ),
            ("smtp://user:hunter2/@mail.example.org:port", "expected"),
        ])
    func refused(url: String, expected: String) {
        let error = #expect(throws: EmailError.self) { try SMTPSettings(url: url) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains(expected))
        #expect(!text.contains("hunter2"))
    }
}
