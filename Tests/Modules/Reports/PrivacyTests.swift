import ErrandPostgres
@testable import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("Groups of people in reports") struct GroupTests {
    private typealias Table = [Int64: [String: Int64]]

    private static func cells(_ table: Table, _ dimension: String) -> [GroupCell] {
        table.flatMap { branch, row in
            row.map {
                GroupCell(dimension: dimension, branch: branch, label: $0.key, people: $0.value)
            }
        }
    }

    /// All numbers that subtraction can reach from published rows: the rows, and the whole less any
    /// set of branches, in each column and over columns.
    private static func reachable(_ published: [GroupCell]) -> [Int64] {
        var columns: [String: [Int64: Int64]] = [:]
        var whole: [String: Int64] = [:]
        for cell in published {
            if let branch = cell.branch {
                columns[cell.label, default: [:]][branch] = cell.people
            } else {
                whole[cell.label] = cell.people
            }
        }
        var numbers = published.map(\.people)
        for (label, total) in whole {
            let rows = Array((columns[label] ?? [:]).values)
            for set in 0..<(1 << min(rows.count, 10)) {
                let taken = rows.enumerated().filter { set >> $0.offset & 1 == 1 }
                    .reduce(0) { $0 + $1.element }
                numbers.append(total - taken)
            }
        }
        // Nothing at all is no group.
        return numbers.filter { $0 != 0 }
    }

    @Test(
        "no number below five is reached by subtraction", arguments: 1...400 as ClosedRange<UInt64>)
    func attacker(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let branches = random.number(1...6)
        let highest = [2, 8, 20, 100][random.number(0...3)]
        var table: Table = [:]
        for branch in 1...branches {
            for age in GroupSuppression.ages {
                table[Int64(branch), default: [:]][age] =
                    random.number(0...3) == 0 ? 0 : Int64(random.number(0...highest))
            }
        }
        for dimension in ["age", "postal"] {
            let published = GroupSuppression.published(
                Self.cells(table, dimension), dimension: dimension)
            for number in Self.reachable(published) { #expect(number >= 5) }
            let people = table.values.flatMap(\.values).reduce(0, +)
            let whole = published.filter { $0.branch == nil }
            #expect(whole.isEmpty || whole.map(\.people).reduce(0, +) == people)
            // The joined groups are two at least: one alone would be its own number.
            if whole.contains(where: { $0.label == GroupSuppression.others }) {
                let named = Set(whole.map(\.label)).subtracting([GroupSuppression.others])
                let all = Set(
                    dimension == "age"
                        ? GroupSuppression.ages
                        : table.values.flatMap { $0.filter { $0.value > 0 }.keys })
                #expect(all.subtracting(named).count >= 2)
            }
        }
    }

    @Test func `large groups are shown as they are, small ones together`() {
        let shown = GroupSuppression.published(
            Self.cells([3: ["H2X": 9, "H3A": 4, "H4B": 2], 4: ["H2X": 7, "H3A": 3]], "postal"),
            dimension: "postal")
        #expect(
            shown == [
                GroupCell(dimension: "postal", branch: nil, label: "H2X", people: 16),
                // 4 + 3 are seven, but H4B alone would be two.
                GroupCell(dimension: "postal", branch: nil, label: "others", people: 9),
            ])
        let both = GroupSuppression.published(
            Self.cells([3: ["H2X": 9, "H3A": 5], 4: ["H2X": 7, "H3A": 8]], "postal"),
            dimension: "postal")
        #expect(both.count == 6)
        #expect(
            GroupSuppression.published(Self.cells([3: ["H2X": 4]], "postal"), dimension: "postal")
                .isEmpty)
    }

    @Test func `an empty age band is not told by its absence`() {
        // 65+ is empty: it is joined with the smallest of the others.
        let row = Dictionary(
            uniqueKeysWithValues: GroupSuppression.ages.dropLast().map { ($0, Int64(10)) })
        let shown = GroupSuppression.published(Self.cells([3: row], "age"), dimension: "age")
        #expect(shown.filter { $0.branch == nil }.map(\.label).last == "others")
        #expect(shown.filter { $0.branch == nil }.count == 5)
    }
}

@Suite("Masked texts", .database) struct MaskTests {
    private static func masked(_ text: String) async throws -> String {
        try await TestDatabase.here().session().query("SELECT surveys.masked($1)", [.text(text)])
            .text(0, 0)
    }

    @Test(
        "phone numbers, addresses, URLs and names behind titles are masked",
        arguments: [
            ("Call me at 514-555-0199 please", "Call me at […] please"),
            ("514 555 0199", "[…]"), ("(514) 555-0199!", "[…]"), ("+33 6 12 34 56 78", "[…]"),
            ("call 514 - 555 - 0199 or 06 / 12 / 34 / 56 / 78", "call […] or […]"),
            ("write ann.lee@example.org now", "write […] now"),
            ("write ann.lee @ example.org", "write […]"), ("ann (at) example.org", "[…]"),
            ("write ann.lee @example.org now", "write […] now"),
            ("ann@exa\u{200B}mple.org", "[…]"),
            ("see https://example.org/x?y=1 there", "see […] there"),
            ("see www.example.org, example.com/me and (insta.me)", "see […] and […]"),
            ("I live at 12 rue Rachel Est, upstairs", "I live at […] upstairs"),
            ("4021 Mont Royal Avenue is far", "[…] is far"), ("apt. 12 is mine", "[…] is mine"),
            ("Hauptstraße 5 in Berlin", "[…] in Berlin"),
            ("in H2X 1Y4 and h2x1y4", "in […] and […]"), ("at SW1A 1AA", "at […]"),
            ("Mrs Ann Lee was kind", "Mrs […] was kind"),
            ("M. Tremblay était là", "M. […] était là"),
            ("Dr. Who. Then more", "Dr. […] Then more"),
            ("good   food\nand\u{7}wine", "good food and wine"),
            ("waited 45 minutes, paid 12.50 for 2", "waited 45 minutes, paid 12.50 for 2"),
            ("rated 10/10 in 2026", "rated 10/10 in 2026"), ("", ""),
            ("飲み物 良い 電話 090-1234-5678", "飲み物 良い 電話 […]"),
            ("@@@ https://", "[…]"),
            ("at 12, rue de la Paix (Dr. Ann Lee) M. Côté m. trop", "at […] M. […] m. trop"),
            ("a good place. 5 stars, 12 cups", "a good […] stars, 12 cups"),
            ("tel:514-555-0199 or ab123456cd", "[…] or […]"), ("٠٦١٢٣٤٥٦٧٨", "[…]"),
        ])
    func masks(text: String, masked: String) async throws {
        #expect(try await Self.masked(text) == masked)
    }

    @Test func `what is masked stays as it is`() async throws {
        let once = try await Self.masked("Mrs Ann Lee, 12 rue Rachel, 514 555 0199, a@b.example")
        #expect(once == "Mrs […]")
        #expect(try await Self.masked(once) == once)
    }

    @Test func `a long text is masked`() async throws {
        let text = String(repeating: "a1.", count: 300) + String(repeating: "9 ", count: 50)
        #expect(try await !Self.masked(text).contains("9 9"))
    }

    @Test func `the webhook of a completion masks as reports do`() async throws {
        try await withReports { ground in
            let text = "Mrs Ann Lee lives at 12 rue Rachel Est, 514 - 555 - 0199, SW1A 1AA"
            let found = try await ground.session.query(
                "SELECT surveys.masked_answers(jsonb_build_object('5', $1::text)) ->> '5'",
                [.text(text)]
            ).text(0, 0)
            try await ground.people(1)
            try await ground.complete(1, #"{"1": 3, "4": true, "5": "\#(text)"}"#)
            let report = try await ground.csv().filter { $0["section"] == "text" }
            #expect(report.map { $0["text"] } == [found])
            for secret in ["Ann", "Rachel", "0199", "SW1A"] { #expect(!found.contains(secret)) }
        }
    }
}

@Suite("What reports never say", .database) struct AnonymityTests {
    @Test func `no name, address, birth date, place or id of a person`() async throws {
        try await withReports { ground in
            try await ground.people(30)
            try await ground.session.script(
                """
                UPDATE people.people SET email = 'secret' || id || '@private.example',
                    birth_date = date '1971-03-01' + (id % 5)::int;
                """)
            for person in 1...30 {
                try await ground.complete(
                    person,
                    #"{"1": 3, "4": true, "5": "mail secret\#(person)@private.example, "#
                        + #"514 555 01\#(10 + person % 80)"}"#,
                    branch: person % 2 == 0 ? 3 : 4)
            }
            let report = try await ground.open()
            try await ground.make(report)
            for name in ["report.csv", "manifest.json"] {
                let text = String(decoding: try await ground.bytes(of: name, report), as: UTF8.self)
                for secret in ["private.example", "1971-", "555", "-73.5", "person", "secret"] {
                    #expect(!text.contains(secret), "\(name): \(secret)")
                }
            }
            let pdf = try await ground.pdfText("report.pdf", report)
            #expect(!pdf.contains("private.example") && !pdf.contains("555 01"))
        }
    }

    @Test func `groups are in monthly reports only, and stay as they were first shown`()
        async throws
    {
        try await withReports { ground in
            try await ground.people(40)
            try await ground.session.script(
                """
                UPDATE people.people SET birth_date = date '2006-01-01' - (id % 6)::int * 3650;
                SELECT reports.put_postal_prefix(n, CASE WHEN n <= 20 THEN 'h2x' ELSE 'H3A' END)
                FROM generate_series(1, 39) AS n;
                """)
            for person in 1...40 { try await ground.complete(person) }
            let weekly = try await ground.csv("weekly", "2026-W41")
            #expect(!weekly.contains { $0["section"] == "people" })
            let monthly = try await ground.csv()
            let groups = monthly.filter { $0["section"] == "people" }
            #expect(groups.allSatisfy { (Int($0["value"] ?? "") ?? 0) >= 5 })
            #expect(groups.contains { $0["option"] == "H2X" && $0["value"] == "20" })
            // Ten people less: the answers change, the groups stay.
            try await ground.withdraw(1...10)
            let report = try await ground.open()
            #expect(try await ground.make(report) == .revised)
            let revised = ReportGround.parsed(try await ground.bytes(of: "report.csv", report))
            #expect(ReportGround.value(revised, "summary", "completed") == "30")
            #expect(revised.filter { $0["section"] == "people" } == groups)
        }
    }

    @Test func `a person's postal prefix is erased, and shown to the person`() async throws {
        try await withReports { ground in
            try await ground.people(1)
            try await ground.session.script("SELECT reports.put_postal_prefix(1, 'h2x')")
            #expect(
                try await ground.texts("SELECT reports.personal_data(1)::text")
                    == [#"{"postal_prefixes": [{"prefix": "H2X"}]}"#])
            #expect(
                try await ground.texts("SELECT rows::text FROM reports.erase(1)") == ["1"])
            #expect(
                try await ground.texts("SELECT rows::text FROM reports.erase(1)") == ["0"])
        }
    }
}
