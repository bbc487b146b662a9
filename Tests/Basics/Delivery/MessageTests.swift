import ErrandDelivery
import Foundation
import Testing

@Suite("Messages") struct MessageTests {
    @Test(
        "an address that people have is taken",
        arguments: [
            "someone@example.org", "first.last+tag@sub.example.co.uk", "o'brien_1@xn--bcher-kva.de",
            "root@localhost", String(repeating: "a", count: 64) + "@example.org",
        ])
    func goodAddress(address: String) throws {
        #expect(try Mailbox(address).address == address)
    }

    @Test(
        "an address that could break out of its line, or that nobody can have, is refused",
        arguments: [
            "", "@", "someone", "someone@", "@example.org", "a@b@example.org", "a b@example.org",
            "a@example.org\r\nRCPT TO:<b@example.org>", "a@example.org\n", "a\u{0}@example.org",
            "<a@example.org>", "a@exa>mple.org", ".a@example.org", "a..b@example.org",
            "a@example..org", "a@-example.org", "a@[127.0.0.1]", "\"a b\"@example.org",
            "é@example.org", "a@exämple.org", String(repeating: "a", count: 65) + "@example.org",
            "a@" + String(repeating: "b.", count: 130) + "org",
        ])
    func badAddress(address: String) {
        #expect(throws: EmailError.self) { try Mailbox(address) }
    }

    @Test(
        "a line break or control character cannot reach a header",
        arguments: [
            "\r\nBcc: victim@example.org", "\nBcc: x", "\rBcc: x", "\u{0}", "\u{7F}", "\u{85}",
            "\u{2028}x",
        ])
    func injection(text: String) throws {
        #expect(throws: EmailError.self) { try message(subject: "Hello\(text)") }
        #expect(throws: EmailError.self) { try message(headers: [.init("X-Tag", "v\(text)")]) }
        #expect(throws: EmailError.self) { try message(headers: [.init("X-Tag\(text)", "v")]) }
        #expect(throws: EmailError.self) {
            try Mailbox("a@example.org", displayName: "Someone\(text)")
        }
        #expect(throws: EmailError.self) {
            try EmailMessage(
                from: Mailbox("a@example.org"), to: Mailbox("b@example.org"), subject: "s",
                text: "t", messageID: "<a\(text)@example.org>", date: .now)
        }
    }

    @Test(
        "a header that the message writes itself is refused",
        arguments: [
            "Bcc", "bcc", "FROM", "Message-ID", "Content-Type", "content-anything", "", "a:b",
        ])
    func ownHeader(name: String) {
        #expect(throws: EmailError.self) { try message(headers: [.init(name, "x")]) }
    }

    @Test(
        "a message identifier is <left@right>",
        arguments: ["", "a@b", "<a@b", "<a>", "<@b>", "<a@>", "<a@b@c>", "<a b@c>", "<a<b@c>"])
    func messageIdentifier(id: String) {
        #expect(throws: EmailError.self) {
            try EmailMessage(
                from: Mailbox("a@example.org"), to: Mailbox("b@example.org"), subject: "s",
                text: "t", messageID: id, date: .now)
        }
    }

    @Test func `the same message renders to the same bytes, ASCII in short CRLF lines`() throws {
        let mail = try message(
            subject: String(repeating: "Ünïcödé ", count: 40),
            text: String(repeating: "x", count: 5000) + "\nöäü\r\rend",
            html: "<p>" + String(repeating: "日本", count: 2000) + "</p>")
        let bytes = mail.rendered()
        #expect(bytes == mail.rendered())
        #expect(bytes.allSatisfy { $0 < 0x80 })
        #expect(bytes.suffix(2) == [13, 10])
        let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 78 })
        #expect(lines.allSatisfy { !$0.utf8.contains(13) && !$0.utf8.contains(10) })
    }

    @Test(
        "a blank at a line's end is encoded, for relays may cut it off",
        arguments: ["blank \nend", "tab\t\nend", String(repeating: "a", count: 75) + " \nend"])
    func trailingBlank(text: String) throws {
        let lines = String(decoding: try message(text: text).rendered(), as: UTF8.self)
            .components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { !$0.hasSuffix(" ") && !$0.hasSuffix("\t") })
    }

    @Test func `a web address in a header is not folded`() throws {
        let address = "<https://errand.example/u/" + String(repeating: "k", count: 200) + ">"
        let bytes = try message(headers: [.init("List-Unsubscribe", address)]).rendered()
        #expect(
            String(decoding: bytes, as: UTF8.self).contains("\r\nList-Unsubscribe: \(address)\r\n"))
    }

    @Test func `a mail that can be unsubscribed from by one click says so in two headers`() throws {
        let url = "https://errand.example/u/" + String(repeating: "k", count: 200)
        let text = String(decoding: try message(unsubscribeURL: url).rendered(), as: UTF8.self)
        #expect(text.contains("\r\nList-Unsubscribe: <\(url)>\r\n"))
        #expect(text.contains("\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"))
        #expect(throws: EmailError.self) {
            try message(unsubscribeURL: url, headers: [.init("list-unsubscribe", "<\(url)>")])
        }
    }

    @Test(
        "a URL that could break out of its header, or goes in the clear, unsubscribes nobody",
        arguments: [
            "", "https://", "http://errand.example/u", "https://errand.example/a b",
            "https://errand.example/>\r\nBcc: x", "https://errand.example/é",
            "https://errand.example/" + String(repeating: "k", count: 900),
        ])
    func unsubscribing(url: String) {
        let error = #expect(throws: EmailError.self) { try message(unsubscribeURL: url) }
        // Whose link it is would stand in rows and logs.
        #expect(error.map { "\($0)" }?.hasPrefix("unsubscribe URL \"***\"") == true)
    }
}
