import ErrandCrypto
import Foundation
import Errand
import ErrandKeys
import ErrandPostgres
import ErrandSurveys
import ErrandTestServices
import Testing

@Suite("Keys of receipts", .database) struct ReceiptKeyTests {
    @Test func `an establishment with an open survey for receipts gets a key, once`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.survey(2, of: 2, forReceipts: false)
        try await ground.survey(3, of: 3)
        _ = try await ground.session.query("SELECT surveys.close_survey(3)")
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try await ground.prepare().made } }
            return try await group.reduce(0, +)
        }
        #expect(made == 1)
        #expect(
            try await ground.texts(
                "SELECT establishment_id || ' ' || version FROM surveys.open_receipt_keys")
                == ["1 1"])
        #expect(try await ground.prepare() == .init())
    }

    @Test func `a worker makes the key that a new survey asks for`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 4)
        try await ground.work()
        let keys = try await ReceiptKeyRecord.list(of: 4, by: ground.session)
        #expect(keys.map(\.version) == [1] && keys.allSatisfy(\.isOpen))
    }

    @Test func `the receipts of a till are accepted, and those of other keys are not`() async throws
    {
        let ground = try await SurveyJobGround()
        for id in [1, 2] as [Int64] { try await ground.survey(id, of: id) }
        #expect(try await ground.prepare().made == 2)
        let person = try await ground.person()
        let code = try await ground.code(of: 1, "A-1")
        #expect(code.contains(/^ER1\.1\.1\.A-1\.[0-9]+\.[0-9A-F]{20}$/))
        #expect(try await ground.scan(code, by: person) == "ok")
        #expect(try await ground.scan(code, by: person) == "used")
        let forged = code.replacing("ER1.1.1.A-1", with: "ER1.2.2.A-1")
        #expect(try await ground.scan(forged, by: person) == "unknown")
        let mine = Receipt(
            establishmentID: 1, branchID: 1, number: "A-2", purchasedAt: 1_781_524_800
        ).text(signedWith: try ReceiptKey())
        #expect(try await ground.scan(mine, by: person) == "unknown")
    }

    @Test func `after a crash of the server the keys are opened again`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.prepare()
        let person = try await ground.person()
        let code = try await ground.code(of: 1, "A-1")
        try await ground.session.script("TRUNCATE surveys.open_receipt_keys")
        #expect(try await ground.scan(code, by: person) == "not_ready")
        // The scan asked for it.
        try await ground.work()
        #expect(try await ground.scan(code, by: person) == "ok")
    }

    @Test func `codes of the key before stay valid for a while, those of a leaked one do not`()
        async throws
    {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.prepare()
        let person = try await ground.person()
        let codes = [try await ground.code(of: 1, "A-1"), try await ground.code(of: 1, "A-2")]
        #expect(try await ground.rotate(1) == 2)
        let next = try await ground.code(of: 1, "A-3")
        #expect(try await ground.scan(codes[0], by: person) == "ok")
        #expect(try await ground.scan(next, by: person) == "ok")
        #expect(try await ground.rotate(1, hasLeaked: true) == 3)
        let other = try await ground.person()
        #expect(try await ground.scan(codes[1], by: other) == "unknown")
        #expect(
            try await ground.scan(try await ground.code(of: 1, "A-4"), by: other) == "ok")
        // Those that are over are deleted.
        #expect(try await ground.prepare().forgotten == 2)
        let left = try await ReceiptKeyRecord.list(of: 1, by: ground.session)
        #expect(left.map(\.version) == [3])
    }

    @Test func `of keys made at once one counts`() async throws {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.prepare()
        let made = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<4 { group.addTask { try await ground.rotate(1) } }
            return try await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        let versions = made.compactMap { $0 }.sorted()
        #expect(!versions.isEmpty && versions == Array(2..<(2 + versions.count)))
        #expect(
            try await ground.number(
                "SELECT count(*) FROM surveys.receipt_keys WHERE retired_at IS NULL") == 1)
    }

    @Test func `a damaged key is not replaced, for tills have it`() async throws {
        let ground = try await SurveyJobGround()
        for id in [1, 2] as [Int64] { try await ground.survey(id, of: id) }
        try await ground.prepare()
        try await ground.session.script(
            """
            UPDATE surveys.receipt_keys SET sealed = set_byte(sealed, length(sealed) - 1,
                get_byte(sealed, length(sealed) - 1) # 1) WHERE establishment_id = 1;
            TRUNCATE surveys.open_receipt_keys
            """)
        #expect(try await ground.prepare() == .init(opened: 1, damaged: 1))
        let now = Instant.now()
        let health = try await SurveyHealth.read(ground.session, now: now)
        #expect(health.closed == 1 && health.firstClosed == 1 && health.missing == 0)
        // While a valid key is not open, nobody's receipt is taken for a forged one.
        #expect(
            try await ground.texts(
                "SELECT surveys.has_closed_key(e)::text FROM generate_series(1, 2) AS e")
                == ["true", "false"])
        #expect(try await ground.rotate(1, hasLeaked: true) == 2)
        #expect(try await SurveyHealth.read(ground.session, now: now).closed == 0)
    }

    /// A key may be opened between the look for it and this second one.
    @Test func `a receipt whose key has just been opened is not taken for a forged one`()
        async throws
    {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.prepare()
        let code = try await ground.code(of: 1, "A-1")
        let forged = code.dropLast(20) + String(repeating: "0", count: 20)
        func unsure() async throws -> [String] {
            try await ground.texts(
                """
                SELECT surveys.is_unsure(
                    surveys.code_parts(c), left(c, -21), clock_timestamp())::text
                FROM unnest(ARRAY['\(code)', '\(forged)']) AS c
                """)
        }
        #expect(try await unsure() == ["true", "false"])
        try await ground.session.script("TRUNCATE surveys.open_receipt_keys")
        #expect(try await unsure() == ["true", "true"])
    }

    @Test func `without the key that sealed one, the others are opened all the same`() async throws
    {
        let ground = try await SurveyJobGround()
        try await ground.survey(1, of: 1)
        try await ground.prepare()
        try await ground.session.script("TRUNCATE surveys.open_receipt_keys")
        let other = try SealingKeys(
            current: SealingKey(id: UUID().uuidString, secret: .random(32)))
        try await ground.survey(2, of: 2)
        await #expect(throws: CryptoError.self) { try await ground.prepare(by: other) }
        #expect(
            try await ground.texts(
                "SELECT establishment_id::text FROM surveys.open_receipt_keys") == ["2"])
        try await ground.prepare()
        #expect(try await ground.number("SELECT count(*) FROM surveys.open_receipt_keys") == 2)
    }
}
