import ErrandReports
import ErrandTestServices
import Foundation
import Testing

@Suite("The trend of reports", .database) struct TrendTests {
    @Test func `the trend shows earlier periods`() async throws {
        try await withReports { ground in
            try await ground.people(3)
            try await ground.complete(1, at: "2026-09-10T12:00Z")
            for person in 2...3 { try await ground.complete(person) }
            _ = try await ground.csv("monthly", "2026-09")
            let records = try await ground.csv()
            let trend = records.filter { $0["section"] == "trend" && $0["measure"] == "completed" }
            #expect(trend.map { $0["label"] } == ["2026-09", "2026-10"])
            #expect(trend.map { $0["value"] } == ["1", "2"])
        }
    }

    /// The label and the completed of a trend.
    private static func trend(_ records: [[String: String]]) -> [String] {
        records.filter { $0["section"] == "trend" && $0["measure"] == "completed" }
            .map { "\($0["label"] ?? "") \($0["value"] ?? "")" }
    }

    @Test func `after a downtime, the trend does not depend on which report is made first`()
        async throws
    {
        try await withReports { ground in
            try await ground.people(20)
            for person in 1...9 {
                let day = 14 + 7 * (person % 3)
                try await ground.complete(person, at: "2026-10-\(day)T12:00Z")
            }
            _ = try await ground.texts("SELECT reports.open_due('2026-11-04Z', 1000)::text")
            let weeks = ["2026-W40", "2026-W41", "2026-W42", "2026-W43", "2026-W44"]
            let last = try await ground.csv("weekly", "2026-W44")
            #expect(Self.trend(last) == zip(weeks, [0, 0, 3, 3, 3]).map { "\($0) \($1)" })
            // Those before are made now: the last one stays as it is.
            for week in weeks.dropLast().reversed() { _ = try await ground.csv("weekly", week) }
            let report = try await ground.open("weekly", "2026-W44")
            #expect(try await ground.make(report) == .unchanged)
            #expect(
                try await Self.trend(ground.csv("weekly", "2026-W43"))
                    == zip(["2026-W39"] + weeks, [0, 0, 0, 3, 3]).map { "\($0) \($1)" })
        }
    }

    @Test func `a period without a report and out of reach is a gap`() async throws {
        try await withReports { ground in
            try await ground.people(3)
            for (person, day) in [(1, "2026-09-22"), (2, "2026-09-30"), (3, "2026-11-12")] {
                try await ground.complete(person, at: "\(day)T12:00Z")
            }
            _ = try await ground.csv("weekly", "2026-W39")
            let records = try await ground.csv("weekly", "2026-W46")
            // Of 40 and 41 nothing is known: the schedule catches up four weeks.
            #expect(
                Self.trend(records) == [
                    "2026-W39 1", "2026-W42 0", "2026-W43 0", "2026-W44 0", "2026-W45 0",
                    "2026-W46 1",
                ])
            let report = try await ground.open("weekly", "2026-W46")
            let text = try await ground.pdfText("report.pdf", report)
            #expect(text.contains("last 8 periods") && text.contains("2026-W40"))
            #expect(try await ground.make(report) == .unchanged)
        }
    }
}
