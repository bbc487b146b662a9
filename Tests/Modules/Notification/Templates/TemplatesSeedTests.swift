import Foundation
import ErrandNotification
import ErrandTestServices
import Testing

@Suite("The words of every notice") struct TemplatesSeedTests {
    /// Data for each kind; texts have what HTML must escape.
    static let samples = [
        "coupon.nearby": #"""
        {"title": "A free <coffee>", "branch": "Café & thé", "distance": 119.37,
         "last_day": "2026-11-20"}
        """#,
        "coupon.expiring": #"""
        {"titles": ["Café <& thé>: 2 for 1", "A surprise"], "count": 5, "more": 3,
         "days_left": 3, "last_day": "2026-11-20"}
        """#,
        "coupon.redeemed": #"""
        {"title": "A free <coffee>", "establishment": "Café & Co",
         "redeemed_at": "2026-11-20T16:05:00Z", "confirmation": "7K3M9QX2T"}
        """#,
        "survey.invited": #"""
        {"title": "Your <visit>", "establishment": "Café & Co", "minutes": 3,
         "reward": {"minor": 300, "currency": "CAD"}, "last_day": "2026-11-20"}
        """#,
        "survey.expiring": #"""
        {"titles": ["Café <& thé>: your visit", "A surprise"], "count": 5, "more": 3,
         "days_left": 3, "last_day": "2026-11-20"}
        """#,
        "survey.invited.digest": digest,
        "badge.earned": #"""
        {"badge": "Surveys <done>: 10", "title": "Surveys <done>", "establishment": "",
         "level": 10}
        """#,
        "badge.earned.digest": digest,
        "inquiry.answered": inquiry, "inquiry.answered_now": inquiry,
        "report.ready": #"""
        {"establishment": "Café & Co", "title": "Week <47>", "summary": "12 completed & 3 expired"}
        """#,
        "company.terms": #"""
        {"headline": "New <terms>", "summary": "What changes", "version": "2026-12",
         "body": "First paragraph.\n\nSecond & last."}
        """#,
        "mission.offered.digest": digest,
        "mission.due_soon.digest": digest, "mission.waiting.digest": digest,
        "mission.unfinished.digest": digest, "mission.unfinished": mission,
        "mission.waiting": mission, "mission.agreed": mission, "mission.dismissed": mission,
        "mission.offered": mission, "mission.due_soon": mission, "mission.missed": mission,
        "mission.hired": "{}", "mission.suspended": mission, "mission.withdrawn": mission,
        "mission.returned": mission, "mission.paid": mission, "mission.rejected": mission,
        "payout.held": payout, "payout.issued": payout, "payout.returned": payout,
        "vote.published": vote, "vote.review": vote,
        "account.code": account, "account.reset_link": account, "account.invitation": account,
        "account.password_changed": account, "account.unused": #"{"on": "2026-11-20"}"#,
        "company.news": #"""
        {"headline": "We <moved>", "summary": "A new address",
         "body": "First paragraph.\n\nSecond & last."}
        """#,
    ].merging(household) { one, _ in one }
    /// All of one app have the facts of the same day.
    private static let household = Dictionary(
        uniqueKeysWithValues: EveryNotice.kinds.filter { $0.app == .household }.map {
            ($0.name, $0.name.hasSuffix(".digest") ? digest : home)
        })
    private static let home = #"""
        {"by": "Ann <&> Ben", "group": "Flat <7>", "title": "Dishes & <pans>",
         "body": "Back <soon>", "amount": {"minor": 4210, "currency": "CAD"},
         "share": {"minor": 1404, "currency": "CAD"}, "until": "2026-11-20T16:05:00Z",
         "due_on": "2026-11-20", "due_at": "2026-11-20T23:00:00Z", "reason": "FREQ=<none>",
         "month_end": "2026-11-30", "groups": ["Flat <7>", "Flat 8"],
         "total": [{"minor": 3000, "currency": "CAD"}, {"minor": 5, "currency": "EUR"}],
         "items": [{"minor": 3000, "currency": "CAD", "to": "<Ann>"},
             {"to": "B \"],\" en", "currency": "EUR", "minor": 5}],
         "at": "2026-11-20T16:05:00Z"}
        """#
    private static let mission = #"""
        {"title": "Ask about <size>", "branch": "Queen & King",
         "pay": {"minor": 2500, "currency": "CAD"}, "starts_at": "2026-11-20T14:00:00Z",
         "ends_at": "2026-11-21T02:00:00Z", "ended_at": "2026-11-21T02:00:00Z",
         "answer_by": "2026-11-19T17:00:00Z", "reason": "the <receipt> cannot be read",
         "code": "unclear"}
        """#
    private static let inquiry = #"{"thread": 12, "about": "Ask about <size>"}"#
    private static let digest = #"{"count": 2, "items": ["Tea <or> coffee?", "Ask about <size>"]}"#
    private static let payout = #"""
        {"amount": {"minor": 123456, "currency": "CAD"}, "cheque": "000<123>",
         "pay_date": "2027-01-15", "reason": "account <closed>"}
        """#
    private static let vote = #"""
        {"subject": "Who <leads>?", "count": 2, "until": "2026-11-20T16:05:00Z"}
        """#
    private static let link = "https://app.example.org/reset?a=1&token=3mJr7AoU"
    private static let account = #"""
        {"code": "<48 15 16>", "minutes": 10, "link": "\#(link)", "by": "Ann <&> Ben",
         "days": 14, "at": "2026-11-20T16:05:00Z"}
        """#

    private func render(
        _ kind: String, _ channel: NoticeKind.Channel, _ json: String? = nil
    ) throws -> NoticeTemplates.Rendered {
        let json = try json ?? #require(Self.samples[kind])
        return try NoticeTemplates(kinds: EveryNotice.kinds, texts: EveryNotice.texts).render(
            kind, channel, data: Array(json.utf8), unsubscribe: "https://example.org/u?k=1&p=2")
    }

    @Test func `the built-in words are those of the folder, and of declared kinds`() throws {
        var files: [String] = []
        let modules = Checkout.root.appending(path: "Sources/Modules").path
        for module in try FileManager.default.contentsOfDirectory(atPath: modules) {
            let folder = "\(modules)/\(module)/Notices/en"
            guard FileManager.default.fileExists(atPath: folder) else { continue }
            files += try FileManager.default.contentsOfDirectory(atPath: folder)
        }
        files.sort()
        var expected = ["layout.email.txt", "layout.email.html"]
        for kind in EveryNotice.kinds {
            for channel in kind.channels {
                expected.append("\(kind.name).\(channel.rawValue).txt")
                if channel == .email { expected.append("\(kind.name).email.html") }
            }
        }
        #expect(files == expected.sorted())
        #expect(Set(EveryNotice.kinds.map(\.name)) == Set(Self.samples.keys))
    }

    @Test(
        "every kind has good words for every channel",
        arguments: EveryNotice.kinds.flatMap { kind in kind.channels.map { (kind.name, $0) } })
    func words(kind: String, channel: NoticeKind.Channel) throws {
        let words = try render(kind, channel)
        #expect(!words.title.isEmpty && !words.title.contains("\n"))
        #expect(!words.text.isEmpty)
        for text in [words.title, words.text, words.html ?? ""] {
            #expect(!text.contains("{") && !text.contains("}") && !text.contains("\n\n\n"))
        }
        #expect((words.html != nil) == (channel == .email))
        if channel == .push { #expect(words.title.count < 70 && words.text.count < 180) }
    }

    @Test func `debts are written as all amounts are, each and together`() throws {
        let words = try render("household.balances", .inbox)
        #expect(words.title == "You owe CA$30.00 and €0.05 in Flat <7> and Flat 8")
        #expect(words.text.contains("\n\nCA$30.00 to <Ann>\n€0.05 to B \"],\" en\n\n"))
    }

    @Test func `coupons that expire keep their words`() throws {
        let one = try render(
            "coupon.expiring", .email,
            #"""
            {"titles": ["A free coffee"], "count": 1, "more": 0, "days_left": 1,
             "last_day": "2026-11-20"}
            """#)
        #expect(one.title == "A free coffee expires tomorrow")
        #expect(
            one.text == """
                This coupon of yours expires tomorrow:

                    A free coffee

                Its last day is Friday 20 November. Show it in the app.

                You get this because you hold coupons in the app.

                --\(" ")
                To get no more mails like this one:
                https://example.org/u?k=1&p=2
                """)
        let five = try render("coupon.expiring", .email)
        #expect(five.title == "5 of your coupons expire in 3 days")
        #expect(
            five.text.hasPrefix(
                """
                These coupons of yours expire in 3 days:

                    Café <& thé>: 2 for 1
                    A surprise
                    and 3 more

                Their last day is Friday 20 November. Show them in the app.
                """))
        #expect(
            five.html?.contains(
                "<li>Café &lt;&amp; thé&gt;: 2 for 1</li><li>A surprise</li> <li>and 3 more</li>"
            ) == true)
    }

    @Test func `a coupon near by says how far it is`() throws {
        let words = try render("coupon.nearby", .push)
        #expect(
            words
                == NoticeTemplates.Rendered(
                    title: "A free <coffee>, 120 m from you",
                    text: "Your coupon counts at Café & thé. It is good until Friday 20 November."
                ))
    }

    @Test func `a payout says whether it is a cheque`() throws {
        #expect(
            try render("payout.issued", .push).text
                == "It is paid on Friday 15 January by cheque no. 000<123>. "
                + "Thank you for your answers.")
        let deposit = Self.payout.replacing("000<123>", with: "")
        #expect(
            try render("payout.issued", .push, deposit).text
                == "It is paid on Friday 15 January. Thank you for your answers.")
    }

    // "Reset is a **link** that opens the app; `account.password_reset` mails a code.
    // The invitation e-mail has no kind".
    @Test func `codes and links are urgent and secret, mailed only and never in a subject`() throws
    {
        let secrets = [
            (NoticeKind.accountCode, "within 10 minutes", "48 15 16"),
            (.accountResetLink, "within 10 minutes", Self.link),
            (.accountInvitation, "within 14 days", Self.link),
        ]
        for (kind, limit, secret) in secrets {
            #expect(kind.urgency == .urgent && kind.channels == [.email] && !kind.mergesHeld)
            #expect(kind.secrets.count == 1)
            let words = try render(kind.name, .email)
            #expect(words.text.contains(limit))
            #expect(words.text.contains(secret))
            #expect(!words.title.contains(secret) && !words.text.contains("/u?k=1"))
        }
        let invitation = try render(
            "account.invitation", .email,
            #"{"link": "app:join?token=3mJr7AoU", "by": "", "days": 1}"#)
        #expect(
            invitation.text.hasPrefix("Open this link within a day to join:\n\napp:join?token="))
    }

    @Test(
        "a link is a URL that is safe to open",
        arguments: [
            "javascript:alert(1)", "data:text/html,x", "JavaScript:alert(1)", "https://a b",
            "no link", "https:", "https://a/\u{2028}", "", ":x",
        ])
    func badLink(link: String) throws {
        let json = try JSONEncoder().encode(["link": link])
        let data = String(decoding: json, as: UTF8.self).dropLast() + #", "minutes": 10}"#
        #expect(throws: NoticeDataError.self) {
            try render("account.reset_link", .email, String(data))
        }
    }

    /// Python's parser, which shares no code with ours, reads every mail.
    @Test func `every mail is well-formed HTML that shows its facts`() async throws {
        let folder = try TemplatesFolder([:])
        var mails: [String] = []
        for kind in EveryNotice.kinds where kind.channels.contains(.email) {
            let html = try #require(try render(kind.name, .email).html)
            mails.append(kind.name)
            try Data(html.utf8).write(to: URL(filePath: "\(folder.path)/\(kind.name)"))
        }
        let printed = try await output(
            of: ["python3", "-c", Self.reader] + mails.map { "\(folder.path)/\($0)" })
        let read = try JSONDecoder().decode([ReadMail].self, from: Data(printed.utf8))
        #expect(read.count == mails.count)
        for (name, mail) in zip(mails, read) {
            #expect(mail.problems.isEmpty, "\(name): \(mail.problems)")
            #expect(!mail.tags.contains("script"))
            // Nobody can turn these off.
            let isUrgent = EveryNotice.kinds.contains {
                $0.name == name && ($0.urgency == .urgent || $0.isMandatory)
            }
            let own =
                Self.samples[name]?.contains("\"link\"") == true
                && EveryNotice.kinds.contains { $0.name == name && $0.fields["link"] == .link }
            let links = own ? [Self.link] : isUrgent ? [] : ["https://example.org/u?k=1&p=2"]
            #expect(mail.links == links, "\(name)")
            #expect(mail.title == (try render(name, .email).title))
            #expect(mail.text.contains(Self.shown[name] ?? "?"), "\(name): \(mail.text)")
        }
    }

    /// What a reader of the mail sees of a fact that had to be escaped.
    private static let shown = [
        "mission.agreed": "Ask about <size>", "mission.dismissed": "the <receipt> cannot be read",
        "coupon.nearby": "A free <coffee>", "coupon.expiring": "Café <& thé>: 2 for 1",
        "coupon.redeemed": "Café & Co",
        "mission.offered": "Ask about <size>", "mission.missed": "Queen & King",
        "mission.hired": "near you", "mission.suspended": "the <receipt> cannot be read",
        "mission.withdrawn": "Ask about <size>", "mission.returned": "the <receipt> cannot",
        "mission.paid": "Queen & King", "mission.rejected": "the <receipt> cannot be read",
        "payout.held": "account <closed>",
        "payout.issued": "cheque no. 000<123>", "payout.returned": "account <closed>",
        "vote.published": "Who <leads>?", "vote.review": "Who <leads>?",
        "account.code": "<48 15 16>", "account.invitation": "Ann <&> Ben invites you",
        "account.reset_link": "Choose a new password",
        "account.password_changed": "Friday 20 November, 16:05 UTC",
        "account.unused": "deleted on Friday 20 November",
        "household.invited": "Flat <7>", "household.balances": "CA$30.00 to <Ann>",
        "household.session_failed": "If that was not you",
        "company.news": "Second & last.", "mission.offered.digest": "Ask about <size>",
        "company.terms": "Second & last.", "badge.earned": "Surveys <done>",
        "badge.earned.digest": "Ask about <size>", "survey.invited.digest": "Ask about <size>",
        "survey.invited": "Café & Co", "survey.expiring": "Café <& thé>: your visit",
        "inquiry.answered": "Ask about <size>", "inquiry.answered_now": "Ask about <size>",
        "report.ready": "12 completed & 3 expired",
    ]

    private struct ReadMail: Decodable {
        var title: String
        var text: String
        var tags: [String]
        var links: [String]
        var problems: [String]
    }

    private static let reader = """
        import html.parser, json, sys
        VOID = {'br', 'hr', 'img', 'meta', 'link', 'input'}
        class Mail(html.parser.HTMLParser):
            def __init__(self):
                super().__init__(convert_charrefs=True)
                self.open, self.out = [], dict(title='', text='', tags=[], links=[], problems=[])
            def handle_starttag(self, tag, attributes):
                self.out['tags'].append(tag)
                self.out['links'] += [v for k, v in attributes if k == 'href']
                self.out['problems'] += [k for k, v in attributes if k.startswith('on')]
                if tag not in VOID: self.open.append(tag)
            def handle_endtag(self, tag):
                if not self.open or self.open.pop() != tag: self.out['problems'].append('/' + tag)
            def handle_data(self, data):
                self.out['title' if self.open[-1:] == ['title'] else 'text'] += data
        mails = []
        for path in sys.argv[1:]:
            mail = Mail()
            mail.feed(open(path, encoding='utf-8').read())
            mail.close()
            mail.out['problems'] += mail.open
            mails.append(mail.out)
        print(json.dumps(mails))
        """
}
