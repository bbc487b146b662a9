import ErrandDelivery
import Foundation
import ErrandTestServices
import Testing

@Suite("Mail read back by another parser") struct ParsedBackTests {
    /// Sends a mail through a real server and reads back what it kept.
    private func readBack(_ mail: EmailMessage) async throws -> ParsedMail {
        var parsed: ParsedMail?
        try await withMailSink { sink in
            let verdict = try await sink.mailer().send(mail)
            #expect(verdict == .delivered(reply: "250 2.0.0 kept"))
            let entry = try #require(try sink.kept().first)
            #expect(try sink.content(of: entry) == Data(mail.rendered()))
            parsed = try await ParsedMail(sink.folder.appending(path: entry.file))
        }
        return try #require(parsed)
    }

    @Test func `names, headers, date and both bodies arrive as they were written`() async throws {
        let mail = try EmailMessage(
            from: Mailbox("news@errand.example", displayName: "Café \"Zoë\", Montréal"),
            replyTo: Mailbox("help@errand.example", displayName: "Help, please \\ \"now\""),
            to: Mailbox("someone@example.org", displayName: "Jean-Luc d'Été 山田"),
            subject: "20 % off à deux pas 🎟️ " + String(repeating: "très près ", count: 20) + "!",
            text: "Bonjour,\n\nvotre bon = 20 %\n",
            html: "<p class=\"x\">Votre bon&nbsp;: 20 %</p>\n",
            messageID: "<4b1f@errand.example>", date: Date(timeIntervalSince1970: 1_795_212_061),
            headers: [
                .init("X-Tag", "une étiquette"),
                .init("List-Unsubscribe", "<https://errand.example/u/abc>"),
            ])
        let parsed = try await readBack(mail)
        #expect(parsed.subject == mail.subject)
        #expect(parsed.from == ["Café \"Zoë\", Montréal", "news@errand.example"])
        #expect(parsed.reply_to == ["Help, please \\ \"now\"", "help@errand.example"])
        #expect(parsed.to == ["Jean-Luc d'Été 山田", "someone@example.org"])
        #expect(parsed.message_id == "<4b1f@errand.example>")
        #expect(parsed.date == mail.date.formatted(.iso8601).replacing("Z", with: "+00:00"))
        #expect(parsed.tag == "une étiquette")
        #expect(parsed.unsubscribe == "<https://errand.example/u/abc>")
        #expect(parsed.types == ["multipart/alternative", "text/plain", "text/html"])
        #expect(parsed.text == "Bonjour,\r\n\r\nvotre bon = 20 %\r\n")
        #expect(parsed.html == "<p class=\"x\">Votre bon&nbsp;: 20 %</p>\r\n")
        #expect(parsed.defects == [])
    }

    @Test(
        "a text arrives as it was written, with CRLF line ends",
        arguments: [
            ".\n", "..\n", ".\n.\n.\n", "a\n.\nb\n", "\n.\n", "\r\n.\r\nQUIT\r\n",
            "From here\n>From there\n", "trailing blank \n\ttab\t\n", "=3D =\n",
            String(repeating: ".", count: 3000) + "\n", String(repeating: "é", count: 2000) + "\n",
            String(repeating: "word ", count: 500) + "\n", String(repeating: "a", count: 76) + "\n",
            String(repeating: "a", count: 75) + "=\n", String(repeating: "a", count: 75) + " \n",
            "日本語のテキスト\n二行目\n", "👩‍👩‍👧 " + String(repeating: "🎟️", count: 100) + "\n", "\n",
            "\u{0}\u{1}\n",
        ])
    func text(text: String) async throws {
        let parsed = try await readBack(try message(text: text))
        #expect(parsed.text == text.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n"))
        #expect(parsed.defects == [])
    }

    @Test(
        "a subject arrives as it was written",
        arguments: [
            "", "plain", "two  blanks", "=?utf-8?B?aGk=?=", " leading and trailing ",
            "100 % = \"all\"",
            String(repeating: "long plain words ", count: 60) + "end",
            String(repeating: "x", count: 950), "Ünïcödé", String(repeating: "日本語", count: 60),
            "🎟️👩‍👩‍👧🎟️👩‍👩‍👧🎟️👩‍👩‍👧🎟️👩‍👩‍👧",
        ])
    func subject(subject: String) async throws {
        let parsed = try await readBack(try message(subject: subject))
        #expect(parsed.subject == subject)
    }
}
