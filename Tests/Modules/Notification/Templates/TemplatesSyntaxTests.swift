import ErrandNotification
import Testing

@Suite("The syntax of templates") struct TemplatesSyntaxTests {
    @Test(
        "facts, plurals, optional parts and braces are written",
        arguments: [
            ("{title} is {away} away", "Tea is 120 m away"),
            ("{count|one coupon|# coupons}", "2 coupons"),
            ("{count|a {title}|# × {title} for {pay}}", "2 × Tea for CA$12.30"),
            ("{{title}} and }}{{", "{title} and }{"),
            ("a{?title b {title}}{?count  {count}} c", "a b Tea  2 c"),
            ("a | b # c", "a | b # c"),
            ("{?items {count|x|{?title y {title}}}}", "  y Tea"),
            ("On {on}: {items}.", "On Friday 20 November: one, two and three."),
            ("{items}", "one\ntwo\nthree"),
            ("All:\n  {items}\nthat is all", "All:\n  one\n  two\n  three\nthat is all"),
            ("Thé 🍵 {title} für {count}", "Thé 🍵 Tea für 2"),
            ("first\n\n\nlast\n\n", "first\n\n\nlast"),
        ])
    func good(template: String, expected: String) throws {
        let templates = try ownTemplates(["en/test.sample.push.txt": "Title\n\n\(template)"])
        let words = try templates.render("test.sample", .push, data: sampleData())
        #expect(words == NoticeTemplates.Rendered(title: "Title", text: expected))
    }

    @Test(
        "empty facts leave their optional part out",
        arguments: [
            ("title", #""""#, "a  2 one, two and three"),
            ("count", "0", "a Tea one, two and three"),
            ("items", "[]", "a Tea  2"),
        ])
    func optional(name: String, value: String, expected: String) throws {
        let templates = try ownTemplates([
            "en/test.sample.push.txt":
                "T\n\na{?title {title}}{?count  {count}}{?items {items}}"
        ])
        let words = try templates.render(
            "test.sample", .push, data: sampleData([name: value]))
        #expect(words.text == expected)
    }

    /// What stands in a push's file, and where and why it is refused.
    static let badPushes = [
        ("", "1:1: expected a title"),
        ("Title", "1:6: expected an empty line and the text after the title"),
        ("Title\ntext", "2:1: expected an empty line after the title"),
        ("\n\ntext", "1:1: expected a title"),
        (
            "{titel}\n\nx",
            "1:2: expected a fact of test.sample (at, away, count, items, on, pay, title), "
                + "not titel"
        ),
        (
            "T\n\nEins\n  zwé {titel",
            "4:8: expected a fact of test.sample (at, away, count, items, on, pay, title), "
                + "not titel"
        ),
        ("T\n\n{title", "3:7: expected } or | after title"),
        ("T\n\n{title:long}", "3:7: expected } or | after title"),
        (
            "T\n\na { b",
            "3:4: expected the name of a fact in lowercase, such as {title}, or {{ for a brace"
        ),
        (
            "T\n\n{Title}",
            "3:2: expected the name of a fact in lowercase, such as {title}, or {{ for a brace"
        ),
        ("T\n\na } b", "3:3: expected }} for a brace"),
        ("T\n\n{title|a|b}", "3:2: expected a count before |, and title is a text"),
        ("T\n\n{items|a|b}", "3:2: expected a count before |, and items is a list"),
        ("T\n\n{count|a}", "3:1: expected 2 forms (one|other), not 1"),
        ("T\n\n{count|a|b|c}", "3:1: expected 2 forms (one|other), not 3"),
        ("T\n\n{count|a|b", "3:1: expected } to end this part"),
        ("T\n\n{?title a", "3:1: expected } to end this part"),
        ("T\n\n{?title}", "3:8: expected a blank and words after {?title"),
        ("T\n\n{?on x}", "3:3: expected a text, a count or a list after {?, and on is a day"),
        (
            "T\n\n{?away x}",
            "3:3: expected a text, a count or a list after {?, and away is a distance"
        ),
        (
            "T\n\n{?title {?title {?title {?title {?title x}}}}}",
            "3:33: expected at most 4 nested parts"
        ),
        (
            "T\n\n{unsubscribe}",
            "3:2: expected a fact of test.sample (at, away, count, items, on, pay, title), "
                + "not unsubscribe"
        ),
    ]

    @Test("a push that cannot be read is refused with its place", arguments: badPushes)
    func badPush(file: String, complaint: String) throws {
        #expect(throws: LogThrottle(text: "en/test.sample.push.txt:\(complaint)")) {
            try ownTemplates(["en/test.sample.push.txt": file])
        }
    }

    /// What stands in a mail's HTML, and where and why it is refused.
    static let badMails = [
        ("", "1:1: expected text"),
        ("<p>{title}", "1:11: expected </p>"),
        ("<p>{title}</b>", "1:11: expected </p> before </b>"),
        ("{title}</b>", "1:8: expected no </b>: nothing is open here"),
        ("<p>a < b</p>", "1:6: expected a tag, or &lt; for <"),
        ("<p", "1:3: expected > to end the tag"),
        (
            "<!-- {title}",
            "1:6: expected title between tags; within a tag only href=\"{unsubscribe}\""
        ),
        ("<p><!-- a -- b", "1:15: expected --> to end the comment"),
        (
            "<p class=\"{title}\">x</p>",
            "1:11: expected title between tags; within a tag only href=\"{unsubscribe}\""
        ),
        (
            "<a href=\"{title}\">x</a>",
            "1:10: expected title between tags; within a tag only href=\"{unsubscribe}\""
        ),
        (
            "<style>p {{ color: {title} }}</style>",
            "1:20: expected title between tags; within a tag only href=\"{unsubscribe}\""
        ),
        ("<script>x</script>", "1:1: expected no <script>: mail readers run none"),
        ("<div/>", "1:1: expected <div></div> rather than <div/>"),
        ("<p>{items}</p>", "1:4: expected items, which is a list, directly inside <ul> or <ol>"),
        (
            "<ul><li>{items}</li></ul>",
            "1:9: expected items, which is a list, directly inside <ul> or <ol>"
        ),
        ("<p>{?title <b>x}</b></p>", "1:4: expected a part whose tags all begin and end within it"),
        ("{count|<b>|x}", "1:1: expected a part whose tags all begin and end within it"),
    ]

    @Test("HTML that cannot be read is refused with its place", arguments: badMails)
    func badHTML(file: String, complaint: String) throws {
        #expect(throws: LogThrottle(text: "en/test.sample.email.html:\(complaint)")) {
            try ownTemplates(
                [
                    "en/test.sample.email.txt": "Subject: T\n\nx",
                    "en/test.sample.email.html": file,
                ], kinds: [sampleKind([.email])])
        }
    }

    @Test(
        "a mail's text begins with its subject",
        arguments: [
            ("T\n\nx", "1:1: expected Subject: and the subject"),
            ("Subject: ", "1:1: expected Subject: and the subject"),
            ("Subject: T\nx", "2:1: expected an empty line after the subject"),
        ])
    func badMail(file: String, complaint: String) throws {
        #expect(throws: LogThrottle(text: "en/test.sample.email.txt:\(complaint)")) {
            try ownTemplates(
                ["en/test.sample.email.txt": file, "en/test.sample.email.html": "<p>x</p>"],
                kinds: [sampleKind([.email])])
        }
    }

    @Test(
        "a layout has a place for the mail and a way out of it",
        arguments: [
            ("<p>x</p>", "1:9: expected {body} once, outside of other parts, not 0 times"),
            ("{body}{body}", "1:13: expected {body} once, outside of other parts, not 2 times"),
            (
                "{body}",
                "1:7: expected {unsubscribe} within {?unsubscribe …}: mails that are not "
                    + "urgent need it"
            ),
            (
                "{body}<p>{unsubscribe}</p>",
                "1:27: expected {unsubscribe} within {?unsubscribe …}: mails that are not "
                    + "urgent need it"
            ),
            (
                "{body}{title}",
                "1:8: expected a fact of the layout (body, subject, unsubscribe), not title"
            ),
            (
                "<p title='{body}'></p>",
                "1:11: expected body between tags; within a tag only href=\"{unsubscribe}\""
            ),
        ])
    func badLayout(file: String, complaint: String) throws {
        #expect(throws: LogThrottle(text: "en/layout.email.html:\(complaint)")) {
            try ownTemplates(["en/layout.email.html": file, "en/test.sample.push.txt": "T\n\nx"])
        }
    }

    /// Numbers that are the same each time.
    private struct Sequence: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    @Test("any text either is read or refused at a place in it", arguments: 1...8)
    func anything(seed: UInt64) throws {
        let pieces = [
            "{", "}", "{{", "}}", "|", "#", "?", " ", "\n", "title", "count", "items", "{title}",
            "{items}", "{count|", "{?title ", "<", ">", "<p>", "</p>", "<ul>", "</ul>",
            "<a href=\"",
            "\"", "'", "<!--", "-->", "<style>", "</style>", "é", "👩‍👩‍👧", "\r", "/", "!", "x",
        ]
        var numbers = Sequence(state: seed)
        var readable = 0
        for _ in 0..<40 {
            let length = Int.random(in: 0...12, using: &numbers)
            let text = (0..<length).compactMap { _ in pieces.randomElement(using: &numbers) }
                .joined()
            let files = [
                "en/test.sample.push.txt": "T\n\n\(text)",
                "en/test.sample.email.txt": "Subject: \(text)\n\n\(text)",
                "en/test.sample.email.html": text,
            ]
            for channel in [NoticeKind.Channel.push, .email] {
                let folder = try TemplatesFolder(
                    files.filter { $0.key.contains(channel.rawValue) })
                do throws(TemplateError) {
                    let templates = try NoticeTemplates(
                        kinds: [sampleKind([channel])], overrides: folder.path)
                    _ = try? templates.render("test.sample", channel, data: sampleData())
                    readable += 1
                } catch {
                    guard case .wrong(let path, let line, let column, _) = error else {
                        Issue.record("\(error) for \(text.debugDescription)")
                        continue
                    }
                    let file = files.first { path.hasSuffix($0.key) }?.value ?? ""
                    let lines = file.replacing("\r", with: "").split(
                        separator: "\n", omittingEmptySubsequences: false)
                    #expect((1...lines.count + 1).contains(line), "\(text.debugDescription)")
                    let width = line <= lines.count ? lines[line - 1].count : 0
                    #expect((1...width + 1).contains(column), "\(text.debugDescription)")
                }
            }
        }
        #expect(readable > 5)
    }
}
