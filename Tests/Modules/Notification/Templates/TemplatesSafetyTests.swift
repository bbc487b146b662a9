import Foundation
import ErrandNotification
import Testing

@Suite("What data cannot do to words") struct TemplatesSafetyTests {
    private static let files = [
        "en/test.sample.push.txt": "{title}\n\n{title}",
        "en/test.sample.inbox.txt": "{title}\n\n{title}",
        "en/test.sample.email.txt": "Subject: {title}\n\n{title}\n{items}",
        "en/test.sample.email.html": "<p>{title}</p><ul>{items}</ul>",
    ]
    private static let kind = sampleKind([.push, .inbox, .email])

    private func written(
        _ channel: NoticeKind.Channel, title: String, items: [String] = [],
        kind: NoticeKind = Self.kind, unsubscribe: String? = nil
    ) throws -> NoticeTemplates.Rendered {
        let encoder = JSONEncoder()
        let data = sampleData([
            "title": String(decoding: try encoder.encode(title), as: UTF8.self),
            "items": String(decoding: try encoder.encode(items), as: UTF8.self),
        ])
        return try ownTemplates(Self.files, kinds: [kind]).render(
            "test.sample", channel, data: data, unsubscribe: unsubscribe)
    }

    @Test(
        "HTML in a fact is shown and not obeyed",
        arguments: [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            (
                "</title></p><img src=x onerror='x'>",
                "&lt;/title&gt;&lt;/p&gt;&lt;img src=x onerror=&#39;x&#39;&gt;"
            ),
            ("\" onmouseover=\"x", "&quot; onmouseover=&quot;x"),
            ("&lt;b&gt; & &amp;", "&amp;lt;b&amp;gt; &amp; &amp;amp;"),
            ("{unsubscribe} {{body}} {?x y}", "{unsubscribe} {{body}} {?x y}"),
            ("one\ntwo", "one<br>\ntwo"),
            ("a\u{0}\u{8}\u{1B}b", "ab"),
        ])
    func html(title: String, escaped: String) throws {
        // JSON with U+0000 is refused before; here it is left out.
        let title = title.replacing("\u{0}", with: "")
        let words = try written(.email, title: title, items: [title, "x"])
        let html = try #require(words.html)
        let item = escaped.replacing("<br>\n", with: " ")
        #expect(html.contains("<p>\(escaped)</p><ul><li>\(item)</li><li>x</li></ul>"))
        #expect(html.contains("<title>\(item)</title>"))
        #expect(!html.contains("<script") && !html.contains("<img"))
    }

    @Test(
        "a title or subject is one line, whatever the data",
        arguments: [
            "Hi\r\nBcc: x@example.org", "Hi\nBcc: x@example.org", "Hi\rBcc: x@example.org",
            "Hi\r\n\r\nBcc: x@example.org", "Hi\u{2028}Bcc: x@example.org",
            "Hi\u{85}Bcc: x@example.org",
            "Hi\u{B}Bcc: x@example.org", " Hi \t\n  Bcc:   x@example.org\n",
        ])
    func oneLine(title: String) throws {
        for channel in NoticeKind.Channel.allCases {
            #expect(try written(channel, title: title).title == "Hi Bcc: x@example.org")
        }
    }

    @Test func `a list cannot be made longer or leave its line`() throws {
        let many = (0..<1_000).map { "item \($0)\n<li>" }
        let text = try written(.email, title: "T", items: many).text
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("item") }
        #expect(lines.count == 99)
        #expect(lines.last == "item 98 <li>")
        #expect(text.contains("\n…"))
        let long = try written(
            .email, title: "T", items: [String(repeating: "é", count: 10_000)])
        #expect(long.text.contains(String(repeating: "é", count: 248) + "…"))
        #expect(!long.text.contains(String(repeating: "é", count: 249)))
    }

    @Test(
        "a push fits into APNs' 4,096 bytes, cut at a character",
        arguments: [
            "x", "é", "🍵", "👩‍👩‍👧", "e\u{301}", "\"", "\\", "/", "a ", "a\n", "ไก่ ", "\u{200F}ש",
        ])
    func push(piece: String) throws {
        let words = try written(.push, title: String(repeating: piece, count: 30_000))
        let encoder = JSONEncoder()
        let payload = try encoder.encode([
            "aps": ["alert": ["title": words.title, "body": words.text]]
        ])
        #expect(payload.count <= 4_096 - 1_500)
        #expect(payload.count > 1_000)
        for text in [words.title, words.text] {
            #expect(text.hasSuffix("…"))
            let shown = String(text.filter { !$0.isWhitespace }.dropLast())
            let all = piece.filter { !$0.isWhitespace }
            #expect(String(repeating: all, count: shown.count).hasPrefix(shown))
        }
    }

    @Test func `one endless character is left out rather than cut`() throws {
        let words = try written(.push, title: "e" + String(repeating: "\u{301}", count: 9_000))
        #expect(words == NoticeTemplates.Rendered(title: "…", text: "…"))
    }

    @Test func `long facts are cut in the inbox and in mails`() throws {
        let long = String(repeating: "word ", count: 100_000)
        let inbox = try written(.inbox, title: long)
        #expect(inbox.text.utf8.count <= NoticeTemplates.inboxLimit)
        #expect(inbox.text.hasSuffix("wo…"))
        let mail = try written(.email, title: long)
        #expect(mail.title.utf8.count <= NoticeTemplates.titleLimit)
        #expect(mail.text.utf8.count < 21_000)
        #expect(try #require(mail.html).utf8.count < 25_000)
    }

    @Test func `mails end with the way out, urgent ones do not`() throws {
        let link = "https://example.org/u?a=1&b=%22"
        let plain = try written(.email, title: "T", unsubscribe: link)
        #expect(plain.text.hasSuffix("\n\(link)"))
        #expect(plain.html?.contains("href=\"https://example.org/u?a=1&amp;b=%22\"") == true)
        let bare = try written(.email, title: "T")
        let urgent = try written(
            .email, title: "T", kind: sampleKind([.push, .inbox, .email], urgency: .urgent),
            unsubscribe: link)
        #expect(bare == urgent)
        #expect(bare.text == "T\n")
        #expect(bare.html?.contains("href") == false)
    }

    @Test(
        "only a link is a way out",
        arguments: [
            "javascript:alert(1)", "https://", "https://a b", "https://a\r\nBcc: x", "x",
            "HTTPS://é", "data:text/html,x",
        ])
    func badLink(link: String) throws {
        let error = #expect(throws: NoticeDataError.self) {
            try written(.email, title: "T", unsubscribe: link)
        }
        #expect(error == .badLink(kind: "test.sample"))
    }
}
