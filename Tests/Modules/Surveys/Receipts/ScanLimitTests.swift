import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Limits of scans", .database) struct ScanLimitTests {
    private static let noon = SurveyGround.noon

    /// Five branches of establishment 1, and a survey of it.
    private func prepare() async throws -> SurveyGround {
        let ground = try await SurveyGround()
        try await ground.session.script(
            """
            INSERT INTO establishments.branches
            SELECT n, 1, 'Branch ' || n, 'POINT(0 0)' FROM generate_series(11, 15) AS n
            """)
        try await ground.put()
        return ground
    }

    @Test func `ten a day, three of a branch`() async throws {
        let ground = try await prepare()
        var answers: [String] = []
        for branch in [11, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 15] as [Int64] {
            let code = try ground.code("A-\(answers.count)", branch: branch)
            answers.append(try await ground.scan(code).reason)
        }
        #expect(answers.filter { $0 == "ok" }.count == 10)
        #expect(
            answers.enumerated().filter { $1 == "too_many" }.map(\.offset) == [3, 7, 12])
        // A refused receipt is not used, and another person may scan it.
        #expect(try await ground.number("SELECT count(*) FROM surveys.receipts") == 10)
        #expect(try await ground.scan(ground.code("A-3", branch: 11), by: 2).reason == "ok")
        // Used, forged and malformed codes have their own reasons still.
        #expect(try await ground.scan(ground.code("A-0", branch: 11)).reason == "used")
        #expect(try await ground.scan("hello").reason == "malformed")
    }

    @Test func `the day is that of the person's calendar`() async throws {
        let ground = try await prepare()
        let midnight = try seconds("2026-06-16T00:00:00-04:00")
        for number in 1...3 {
            let code = try ground.code("A-\(number)", at: midnight - 10)
            #expect(try await ground.scan(code, at: midnight - 1).reason == "ok")
        }
        let code = try ground.code("A-4", at: midnight - 10)
        #expect(try await ground.scan(code, at: midnight - 1).reason == "too_many")
        #expect(try await ground.scan(code, at: midnight).reason == "ok")
        #expect(
            try await ground.texts("SELECT day || ' ' || branches::text FROM surveys.scan_days")
                == ["2026-06-16 {1}"])
    }

    @Test func `another time zone with an earlier day gives no second day`() async throws {
        let ground = try await prepare()
        for number in 1...3 { try await ground.scan(ground.code("A-\(number)")) }
        try await ground.session.script(
            "UPDATE people.people SET time_zone = 'Pacific/Pago_Pago' WHERE id = 1")
        let night = try seconds("2026-06-15T22:00:00-11:00")
        try await ground.session.script("UPDATE surveys.scan_days SET day = '2026-06-16'")
        #expect(
            try await ground.scan(ground.code("A-4", at: night), at: night).reason == "too_many")
    }

    @Test func `twenty wrong codes a day, and then none of the person's`() async throws {
        let ground = try await prepare()
        let wrong = try ground.code("A-1", key: ground.keys[2])
        for _ in 1...20 { #expect(try await ground.scan(wrong).reason == "unknown") }
        #expect(try await ground.scan(wrong).reason == "too_many")
        #expect(try await ground.scan(ground.code("A-1")).reason == "too_many")
        #expect(try await ground.number("SELECT wrong FROM surveys.scan_days") == 20)
        #expect(try await ground.scan(wrong, by: 2).reason == "unknown")
        let tomorrow = Self.noon + SurveyGround.day
        #expect(try await ground.scan(ground.code("A-1"), at: tomorrow).reason == "ok")
        #expect(try await ground.number("SELECT wrong FROM surveys.scan_days LIMIT 1") <= 1)
    }

    @Test func `the limits are rules`() async throws {
        let ground = try await prepare()
        try await ground.session.script(
            "UPDATE surveys.rules SET scans_a_day = 2, scans_of_branch = 1, wrong_codes = 1, "
                + "clock_skew = '0 seconds'")
        var answers: [String] = []
        for branch in [11, 11, 12, 13] as [Int64] {
            let code = try ground.code("A-\(answers.count)", branch: branch)
            answers.append(try await ground.scan(code).reason)
        }
        #expect(answers == ["ok", "too_many", "ok", "too_many"])
        #expect(
            try await ground.scan(ground.code("B", at: Self.noon + 1), by: 2).reason
                == "from_future")
        let wrong = try ground.code("A-1", key: ground.keys[2])
        #expect(try await ground.scan(wrong, by: 2).reason == "unknown")
        #expect(try await ground.scan(wrong, by: 2).reason == "too_many")
    }
}
