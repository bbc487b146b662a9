import ErrandCrypto
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The life of receipt keys", .database) struct ReceiptKeyLifeTests {
    /// Now, by the database's clock: keys are replaced by it.
    private func now(_ ground: SurveyGround) async throws -> Int64 {
        try await ground.number("SELECT extract(epoch FROM clock_timestamp())::bigint")
    }

    @Test func `a replaced key is good for thirty days, a leaked one no longer`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        let (now, next) = (try await now(ground), try SecretBytes.random(32))
        try await ground.open(next, of: 1)
        let later = now + 29 * SurveyGround.day
        #expect(try await ground.scan(ground.code("A-1", at: later), at: later).reason == "ok")
        #expect(
            try await ground.scan(ground.code("A-2", at: later, key: next), at: later).reason
                == "ok")
        let end = now + 30 * SurveyGround.day + 60
        #expect(try await ground.scan(ground.code("A-3", at: end), at: end).reason == "unknown")
        try await ground.open(.random(32), of: 1, atOnce: true)
        for (number, key) in [("A-4", ground.keys[1]), ("A-5", next)] {
            let code = try ground.code(number, at: now, key: key)
            #expect(try await ground.scan(code, at: now + 60).reason == "unknown")
        }
        #expect(try await ground.number("SELECT surveys.delete_keys()") == 2)
        #expect(
            try await ground.texts(
                "SELECT version::text FROM surveys.receipt_keys WHERE establishment_id = 1")
                == ["3"])
        #expect(
            try await ground.texts(
                "SELECT version::text FROM surveys.open_receipt_keys WHERE establishment_id = 1")
                == ["3"])
    }

    @Test func `without open keys scans are not ready, and ask for the keys once`() async throws {
        let ground = try await SurveyGround()
        try await ground.put()
        // As after a crash.
        try await ground.session.script("TRUNCATE surveys.open_receipt_keys")
        for number in 1...3 {
            #expect(try await ground.scan(ground.code("A-\(number)")).reason == "not_ready")
        }
        #expect(
            try await ground.number(
                "SELECT count(*) FROM errand.jobs WHERE kind = 'surveys.keys'") == 1)
        #expect(try await ground.number("SELECT count(*) FROM surveys.scan_days") == 0)
        #expect(
            try await ground.texts(
                "SELECT establishment_id || ':' || version FROM surveys.closed_keys()")
                == ["1:1", "2:1"])
        #expect(
            try await ground.texts(
                "SELECT establishment_id || ':' || version FROM surveys.closed_keys(9, 1, 1)")
                == ["2:1"])
        _ = try await ground.session.query(
            "SELECT surveys.open_key(2, 1, $1, $1)",
            [.bytes([UInt8](repeating: 0, count: 64))])
        #expect(
            try await ground.texts("SELECT good_until::text FROM surveys.open_receipt_keys")
                == ["infinity"])
    }

    @Test func `an establishment whose receipts lead to a survey needs a key`() async throws {
        let ground = try await SurveyGround()
        try await ground.session.script(
            """
            DELETE FROM surveys.open_receipt_keys; DELETE FROM surveys.receipt_keys;
            DELETE FROM errand.jobs
            """)
        try await ground.put(2, of: 2, "for_receipts => false")
        #expect(try await ground.number("SELECT count(*) FROM surveys.missing_keys()") == 0)
        #expect(try await ground.number("SELECT count(*) FROM errand.jobs") == 0)
        try await ground.put(1, of: 1)
        #expect(
            try await ground.texts(
                "SELECT establishment_id || ':' || version FROM surveys.missing_keys()") == ["1:1"])
        #expect(
            try await ground.texts("SELECT kind FROM errand.jobs") == ["surveys.keys"])
        #expect(try await ground.scan(ground.code("A-1")).reason == "not_ready")
    }

    @Test func `of two workers that make the same version one does`() async throws {
        let ground = try await SurveyGround()
        let block = "decode(repeat('00', 64), 'hex')"
        let put = "SELECT surveys.put_key(1, 2, '\\x00', \(block), \(block))::text"
        let made = try await TestDatabase.here().overlap(put, put)
        #expect(made == ["false"])
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.receipt_keys WHERE establishment_id = 1") == 2)
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.receipt_keys WHERE retired_at IS NULL") == 2)
    }
}
