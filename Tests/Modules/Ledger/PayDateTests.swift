import ErrandGregorian
import ErrandLedger
import ErrandPostgres
import ErrandTestServices
import Testing

/// Pay dates of SQL against those of Swift.
@Suite("Pay dates in SQL", .database) struct PayDateTests {
    @Test func `SQL and Swift have the same holidays from 1970 to 2200`() async throws {
        let session = try TestDatabase.here().session()
        let rows = try await session.query(
            """
            SELECT y, ARRAY(SELECT d::text FROM unnest(ledger.holidays(y)) d) AS days
            FROM generate_series(1970, 2200) y ORDER BY y
            """)
        #expect(rows.count == 231)
        for row in rows {
            let year = Int(try row.int32("y"))
            #expect(
                try row.textArray("days")
                    == BankingDays.holidays(of: year).map { $0.day.isoText }, "\(year)")
        }
    }

    // "No SQL function gives an app the next pay date; only `errand reward show` does".
    @Test func `SQL and Swift have the same next pay date from every day`() async throws {
        let session = try TestDatabase.here().session()
        for payDay in [1, 2, 15, 28] {
            let rows = try await session.query(
                """
                SELECT d::date::text AS day, ledger.next_pay_date(d::date, $1)::text AS pay_date
                FROM generate_series(timestamp '2019-12-01', '2032-02-01', '1 day') d
                """, [.int32(Int32(payDay))])
            for row in rows {
                let day = try row.text("day").split(separator: "-").compactMap { Int($0) }
                let expected = Quarter.nextPayDate(
                    from: CivilDate(year: day[0], month: day[1], day: day[2]), dayOfMonth: payDay)
                #expect(try row.text("pay_date") == expected.isoText, "\(payDay), \(day)")
            }
        }
    }
}
