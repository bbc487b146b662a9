import ErrandPostgres
import ErrandTestServices
import Testing

/// The counters of guesses, whatever the time that a caller has read.
@Suite("Counters of guesses", .database) struct GuessCounterTests {
    @Test func `a caller that stalls for long sets no counter back`() async throws {
        let town = try Town()
        func count(_ period: Int) async throws -> [Int64] {
            // The period, and the count.
            let row = try await town.session.query(
                """
                WITH counted AS MATERIALIZED (SELECT coupons.count_in(5, 0, $1) AS value)
                SELECT value >> 40, value & 1048575 FROM counted
                """, [.int64(Int64(period))])
            return [try row.int64(0, 0), try row.int64(0, 1)]
        }
        #expect(try await count(100) == [100, 1])
        #expect(try await count(100) == [100, 2])
        #expect(try await count(103) == [103, 1])
        // It has read the clock three periods ago.
        #expect(try await count(100) == [103, 2])
        #expect(try await count(103) == [103, 3])
        #expect(try await town.number("SELECT coupons.guesses_in(5, 100)") == 3)
        #expect(try await town.number("SELECT coupons.guesses_in(5, 104)") == 0)
    }
}
