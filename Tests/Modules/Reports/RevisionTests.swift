import ErrandPostgres
import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("When a revision may be published") struct RevisionRuleTests {
    /// A row is that of person row / 100: a person may have several.
    private static func people(_ rows: some Sequence<Int64>) -> Int64 {
        Int64(Set(rows.map { $0 / 100 }).count)
    }

    private static func verdict(
        _ new: RevisionRule.Prints, _ published: [RevisionRule.Prints]
    ) async throws -> RevisionRule.Verdict {
        try await RevisionRule.verdict(new, published: published) { people($1) }
    }

    @Test(
        "no two published ones differ by fewer than five people, gone or new, in a cell",
        arguments: 1...60 as ClosedRange<UInt64>)
    func random(seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        var rows: RevisionRule.Prints = [:]
        for person in 1...60 as ClosedRange<Int64> {
            rows["c:\(person % 3)", default: []].append(person * 100)
        }
        var published: [RevisionRule.Prints] = []
        for _ in 1...40 {
            let cell = "c:\(random.number(0...2))"
            let isGone = random.number(0...1) == 0
            for _ in 1...random.number(1...12) {
                let person = random.number(1...80 as ClosedRange<Int64>)
                let row = person * 100 + random.number(0...2 as ClosedRange<Int64>)
                rows[cell, default: []].removeAll { $0 == row || isGone && $0 / 100 == person }
                if !isGone || random.number(0...9) == 0 { rows[cell, default: []].append(row) }
            }
            for cell in rows.keys { rows[cell]?.sort() }
            switch try await Self.verdict(rows, published) {
            case .first: #expect(published.isEmpty)
            case .same:
                #expect(published.last == rows)
                continue
            case .few: continue
            case .differs:
                for earlier in published {
                    for cell in Set(rows.keys).union(earlier.keys) {
                        let (now, then) = (Set(rows[cell] ?? []), Set(earlier[cell] ?? []))
                        for rows in [now.subtracting(then), then.subtracting(now)] {
                            #expect(rows.isEmpty || Self.people(rows) >= 5)
                        }
                    }
                }
            }
            published.append(rows)
        }
        #expect(!published.isEmpty)
    }

    @Test func `one who is gone is not hidden by many who are new`() async throws {
        func rows(_ people: ClosedRange<Int64>) -> RevisionRule.Prints {
            ["c": people.map { $0 * 100 }]
        }
        #expect(try await Self.verdict(rows(1...60), [rows(1...40)]) == .differs)
        #expect(try await Self.verdict(rows(2...60), [rows(1...40)]) == .few)
        #expect(try await Self.verdict(rows(6...60), [rows(1...40)]) == .differs)
        // Five rows of two people.
        let five: [Int64] = [4_100, 4_101, 4_102, 4_200, 4_201]
        #expect(
            try await Self.verdict(["c": rows(1...40)["c"]! + five], [rows(1...40)]) == .few)
        // In another cell, none is enough.
        var other = rows(1...60)
        other["d"] = [100]
        #expect(try await Self.verdict(other, [rows(1...40)]) == .few)
    }

    @Test func `an earlier revision counts as the newest does`() async throws {
        func rows(_ people: ClosedRange<Int64>) -> RevisionRule.Prints {
            ["c": people.map { $0 * 100 }]
        }
        let (first, second) = (rows(1...40), rows(21...60))
        #expect(try await Self.verdict(second, [first]) == .differs)
        // Far from the second, but one person from the first.
        #expect(try await Self.verdict(rows(2...40), [first, second]) == .few)
        // The first itself reveals nothing.
        #expect(try await Self.verdict(first, [first, second]) == .differs)
        #expect(try await Self.verdict(second, [first, second]) == .same)
    }
}

@Suite("Revisions of reports", .database) struct RevisionTests {
    @Test func `one person who withdraws or is erased makes no revision`() async throws {
        try await withReports { ground in
            try await ground.people(30)
            for person in 1...30 { try await ground.complete(person, branch: 3 + person % 2) }
            let report = try await ground.open()
            #expect(try await ground.make(report) == .made)
            let bytes = try await ground.bytes(of: "report.csv", report)
            try await ground.withdraw(1...1)
            #expect(try await ground.make(report) == .stands)
            try await ground.session.script(
                "UPDATE surveys.completions SET person_id = NULL WHERE person_id = 2")
            #expect(try await ground.make(report) == .stands)
            // Four at each of two branches are eight, but four at each.
            try await ground.withdraw(3...8)
            #expect(try await ground.make(report) == .stands)
            #expect(try await ground.bytes(of: "report.csv", report) == bytes)
            #expect(
                try await ground.number(
                    "SELECT sendings FROM reports.reports WHERE id = $1", [.int64(report)]) == 1)
            try await ground.withdraw(9...26)
            #expect(try await ground.make(report) == .revised)
            let revised = ReportGround.parsed(try await ground.bytes(of: "report.csv", report))
            #expect(ReportGround.value(revised, "summary", "completed") == "4")
        }
    }

    @Test func `late answers of few wait, also beside a withdrawal`() async throws {
        try await withReports { ground in
            try await ground.people(60)
            for person in 1...20 { try await ground.complete(person) }
            let report = try await ground.open()
            try await ground.make(report)
            for person in 21...23 { try await ground.complete(person) }
            #expect(try await ground.make(report) == .stands)
            try await ground.withdraw(1...1)
            #expect(try await ground.make(report) == .stands)
            // Many who are new do not hide one who is gone: her text would be missed.
            for person in 24...50 { try await ground.complete(person) }
            #expect(try await ground.make(report) == .stands)
            try await ground.withdraw(2...6)
            #expect(try await ground.make(report) == .revised)
            // The second and the third would differ by one, whose answers a review rejects.
            try await ground.session.script(
                "UPDATE surveys.completions SET state = 'rejected' WHERE person_id = 30")
            #expect(try await ground.make(report) == .stands)
            #expect(try await ground.number("SELECT max(revision) FROM reports.revisions") == 2)
        }
    }

    @Test func `coupons and missions of few make none either`() async throws {
        try await withReports { ground in
            try await ground.people(30)
            for person in 1...30 { try await ground.complete(person) }
            let report = try await ground.open()
            try await ground.make(report)
            try await ground.session.script(
                """
                INSERT INTO coupons.coupons (id, person_id, establishment_id, title, valid_from,
                    expires_at) VALUES (1, 1, 7, 'a', '2026-10-02Z', '2026-10-20Z')
                """)
            #expect(try await ground.make(report) == .stands)
            try await ground.session.script(
                """
                INSERT INTO coupons.coupons (id, person_id, establishment_id, title, valid_from,
                    expires_at)
                SELECT n, n, 7, 'a', '2026-10-02Z', '2026-10-20Z' FROM generate_series(2, 20) AS n
                """)
            #expect(try await ground.make(report) == .revised)
        }
    }

    @Test func `names alone make no revision, and files are written again as they were`()
        async throws
    {
        try await withReports { ground in
            try await ground.people(60)
            for person in 1...9 { try await ground.complete(person) }
            let report = try await ground.open()
            let statement = try await ground.open("statement")
            try await ground.make(report)
            try await ground.make(statement)
            let bytes = try await ground.bytes(of: "report.csv", report)
            try await ground.session.script(
                """
                SELECT establishments.put_establishment(7, 'Café Marie'),
                    establishments.put_branch(3, 7, 'Rue Marie', -73.57, 45.52),
                    establishments.put_branch(5, 7, 'Rue Neuve', -73.57, 45.52)
                """)
            #expect(try await ground.make(report) == .unchanged)
            #expect(try await ground.make(statement) == .unchanged)
            try FileManager.default.removeItem(atPath: ground.root)
            #expect(try await ground.make(report) == .unchanged)
            #expect(try await ground.make(statement) == .unchanged)
            #expect(try await ground.bytes(of: "report.csv", report) == bytes)
            #expect(
                try await ground.number("SELECT sum(sendings)::bigint FROM reports.reports") == 2)
            // Other figures come with the names of their time.
            for person in 21...50 { try await ground.complete(person) }
            #expect(try await ground.make(report) == .revised)
            let text = String(
                decoding: try await ground.bytes(of: "report.csv", report), as: UTF8.self)
            for name in ["Café Marie", "Rue Marie", "Rue Neuve"] { #expect(text.contains(name)) }
        }
    }
}
