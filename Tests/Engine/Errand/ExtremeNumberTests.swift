import ErrandAdministration
import ErrandPostgres
import ErrandTestServices
import Testing

@testable import Errand

/// Numbers of rows that are none, or far from any that a program writes.
@Suite("Extreme numbers of rows", .database) struct ExtremeNumberTests {
    private static let numbers = [
        Double.nan, -.nan, .infinity, -.infinity, .greatestFiniteMagnitude,
        -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 1e18, 1e19, -1e19, 1e300, -1, 0, 0.5, 1,
        1e6,
    ]

    @Test(arguments: numbers)
    func `a limit of any rate pops at least one job, and not too many`(_ rate: Double) {
        let limit = KnownLimit(rate: rate)
        #expect(limit.most >= 1)
        #expect(rate.isNaN ? limit.rate == nil : limit.most <= 100_001)
        #expect(KnownLimit(running: 3, rate: rate).most <= 3)
        #expect(limit == KnownLimit(rate: rate), "a worker would apply it again and again")
    }

    @Test(arguments: numbers)
    func `a pause of any length is at most a second`(_ seconds: Double) {
        let length = KnownLimit.Pause.rate(seconds).length
        #expect(length >= .milliseconds(1) && length <= .milliseconds(1_001))
    }

    @Test func `the numbers of PostgreSQL are read as durations in range`() async throws {
        let ground = try await RulesGround()
        let rows = try await ground.session.query(
            """
            SELECT n, n AS double, CASE WHEN abs(n) NOT IN (1e308, 1e-300)
                THEN n::real END AS real
            FROM unnest('{NaN,Infinity,-Infinity,1e308,-1e308,1e-300,2.5,-2.5,0}'::float8[])
                AS n
            """)
        let limit = Duration.seconds(1e15)
        for row in rows {
            for value in [try row.optionalSeconds("double"), try row.optionalSeconds("real")] {
                guard let value else { continue }
                #expect(value >= .zero - limit && value <= limit)
                // Sums and products of what is read are in range as well.
                #expect((value + value) * 4 / .seconds(1) <= 8e15)
            }
            #expect(try row.seconds("double") == .bounded(seconds: try row.double("n")))
        }
        let read = try rows.map { try $0.seconds("double") }
        #expect(read[0] == .zero && read[1] == limit && read[2] == .zero - limit)
        #expect(read[6] == .seconds(2.5) && read[7] == .seconds(-2.5) && read[8] == .zero)
        await #expect(throws: PostgresError.self) {
            try await ground.session.query("SELECT NULL::float8 AS n")[0].seconds("n")
        }
    }

    @Test func `arrays of any shape are read as lists of texts`() async throws {
        let ground = try await RulesGround()
        let shapes: [(String, [String])] = [
            ("{}", []), ("{a,b}", ["a", "b"]), ("{NULL}", []), ("{a,NULL,b}", ["a", "b"]),
            ("{{a,b},{NULL,c}}", ["a", "b", "c"]), ("[5:6]={a,b}", ["a", "b"]),
            ("{{{{{{a},{b}}}}}}", ["a", "b"]), ("{\"\",ü}", ["", "ü"]),
        ]
        for (text, list) in shapes {
            let row = try await ground.session.query(
                "SELECT $1::text::text[] AS a, NULL::text[] AS none, $1::text AS text",
                [.text(text)])[0]
            #expect(try row.looseTextArray("a") == list, "\(text)")
            #expect(try row.looseTextArray("none") == [])
            #expect(throws: PostgresError.self) { try row.looseTextArray("text") }
        }
    }

    @Test func `a histogram holds any counts of a row`() {
        var histogram = DurationHistogram()
        for bucket in -1...200 {
            for _ in 0..<10 { histogram.add(.max, toBucket: bucket) }
            histogram.add(.min, toBucket: bucket)
        }
        #expect(histogram.total > 0)
        #expect(histogram.percentile(0.5) != nil && histogram.percentile(1) != nil)
    }

    @Test func `a claim counts the last attempt that the column holds again`() async throws {
        let ground = try await RulesGround()
        var kinds = JobKinds()
        kinds.handle(Plain.self) { _, _ in }
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args, attempt, max_attempts)
            SELECT 'default', 'test.plain', '{"n": 1}', attempt, 32767
            FROM unnest('{-32768,-1,32766,32767}'::int[]) AS attempt
            """)
        #expect(try await TestWorker.drain(kinds).completed == 4)
        _ = try await ground.session.query(
            "INSERT INTO errand.queue_limits (queue, running, set_by) VALUES ('default', 2, 'x')")
        _ = try await ground.session.query(
            """
            INSERT INTO errand.jobs (queue, kind, args, attempt)
            VALUES ('default', 'test.plain', '{"n": 1}', 32767)
            """)
        #expect(try await TestWorker.drain(kinds).completed == 1)
    }
}
