import ErrandPayouts
import Foundation
import ErrandNotification
import Testing

@Suite("An operator's own words") struct TemplatesOverrideTests {
    private static let push = "en/test.sample.push.txt"

    @Test(
        "files that nothing would read are refused",
        arguments: [
            (
                "en/coupon.nearbi.push.txt",
                "en/coupon.nearbi.push.txt is unused: expected a declared kind and one of its "
                    + "channels, such as coupon.nearby.push.txt, or layout.email.txt or .html"
            ),
            (
                "en/test.sample.inbox.txt",
                "en/test.sample.inbox.txt is unused: expected a declared kind and one of its "
                    + "channels, such as coupon.nearby.push.txt, or layout.email.txt or .html"
            ),
            (
                "fr/test.sample.push.txt",
                "fr is unused: expected a folder named by a locale whose language is known (en), "
                    + "such as en or en-CA"
            ),
            (
                "en-ca/test.sample.push.txt",
                "en-ca is unused: expected a folder named by a locale whose language is known "
                    + "(en), such as en or en-CA"
            ),
            (
                "english.txt",
                "english.txt is unused: expected a folder named by a locale whose language is "
                    + "known (en), such as en or en-CA"
            ),
        ])
    func stray(file: String, complaint: String) throws {
        #expect(throws: LogThrottle(text: complaint)) {
            try ownTemplates([Self.push: "T\n\nx", file: "T\n\nx"])
        }
    }

    @Test func `every channel of a kind needs its words`() throws {
        #expect(
            throws: LogThrottle(
                text: "en/test.sample.inbox.txt is missing: test.sample is sent by inbox")
        ) {
            try ownTemplates([Self.push: "T\n\nx"], kinds: [sampleKind([.push, .inbox])])
        }
        #expect(
            throws: LogThrottle(
                text: "en/test.sample.email.html is missing: it belongs to "
                    + "en/test.sample.email.txt")
        ) {
            try ownTemplates(
                ["en/test.sample.email.txt": "Subject: T\n\nx"], kinds: [sampleKind([.email])])
        }
    }

    @Test func `a folder that cannot be read is named`() throws {
        let error = #expect(throws: TemplateError.self) {
            try NoticeTemplates(kinds: [], overrides: "/nowhere/words")
        }
        #expect(
            error?.description
                == "/nowhere/words cannot be read: is it a folder that may be read?")
    }

    @Test func `files that are no text, or too long, are named`() throws {
        let long = String(repeating: "x", count: 65_537)
        #expect(
            throws: LogThrottle(
                text: "\(Self.push) cannot be read: it has 65537 bytes, 65536 allowed")
        ) { try ownTemplates([Self.push: long]) }
        let folder = try TemplatesFolder([Self.push: ""])
        try Data([0x54, 0xFF]).write(to: URL(filePath: "\(folder.path)/\(Self.push)"))
        #expect(
            throws: TemplateError.unreadable(
                path: "\(folder.path)/\(Self.push)",
                reason: "it is not UTF-8 text: save it as such")
        ) { try NoticeTemplates(kinds: [sampleKind()], overrides: folder.path) }
    }

    @Test func `Windows line ends, a byte order mark and hidden files do no harm`() throws {
        let templates = try ownTemplates([
            Self.push: "\u{FEFF}Title\r\n\r\none\r\ntwo\r\n", "en/.backup": "?", ".hidden": "?",
        ])
        let words = try templates.render("test.sample", .push, data: sampleData())
        #expect(words == NoticeTemplates.Rendered(title: "Title", text: "one\ntwo"))
    }

    @Test func `what is not overridden keeps the built-in words`() throws {
        let kinds = [NoticeKind.payoutReturned]
        let own = try ownTemplates(
            ["en/payout.returned.push.txt": "Back\n\n{amount}: {reason}"], kinds: kinds)
        let builtIn = try NoticeTemplates(kinds: kinds, texts: EveryNotice.texts)
        let data = Array(
            #"{"amount": {"minor": 100, "currency": "CAD"}, "reason": "closed account"}"#.utf8)
        #expect(
            try own.render("payout.returned", .push, data: data)
                == NoticeTemplates.Rendered(title: "Back", text: "CA$1.00: closed account"))
        for channel in [NoticeKind.Channel.email, .inbox] {
            #expect(
                try own.render("payout.returned", channel, data: data)
                    == builtIn.render("payout.returned", channel, data: data))
        }
    }

    @Test(
        "a person gets the words of the own locale, else of its language, else English",
        arguments: [
            ("en", "plain"), ("en-CA", "Canadian"), ("en_CA", "Canadian"), ("en-ca", "Canadian"),
            ("en-GB", "plain"), ("fr-CA", "plain"), ("", "plain"), ("?", "plain"),
        ])
    func fallback(locale: String, title: String) throws {
        let templates = try ownTemplates(
            [
                Self.push: "plain\n\nx", "en/test.sample.inbox.txt": "inbox\n\nx",
                "en-CA/test.sample.push.txt": "Canadian\n\nx",
            ], kinds: [sampleKind([.push, .inbox])])
        func titleOf(_ channel: NoticeKind.Channel) throws -> String {
            try templates.render("test.sample", channel, data: sampleData(), locale: locale).title
        }
        #expect(try titleOf(.push) == title)
        #expect(try titleOf(.inbox) == "inbox")
    }

    @Test func `a locale gives both parts of a mail or none`() throws {
        #expect(
            throws: LogThrottle(
                text: "en-CA/payout.returned.email.txt is missing: it belongs to "
                    + "en-CA/payout.returned.email.html")
        ) {
            try ownTemplates(
                ["en-CA/payout.returned.email.html": "<p>{reason}</p>"],
                kinds: [.payoutReturned])
        }
    }
}
