import ErrandCoupons
import ErrandCrypto
import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Codes", .database) struct CodeTests {
    @Test("the truncation gives the published codes of HOTP (RFC 4226, appendix D)")
    func hotp() async throws {
        let town = try Town()
        try await town.run("CREATE EXTENSION IF NOT EXISTS pgcrypto")
        let codes = try await town.session.query(
            """
            SELECT lpad((coupons.truncated(hmac(int8send(n), '12345678901234567890', 'sha1'))
                % 1000000)::text, 6, '0')
            FROM generate_series(0, 9) AS n ORDER BY n
            """
        ).map { try $0.text(0) }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
                "399871", "520489",
            ])
    }

    @Test(
        "the truncation gives the published codes of TOTP (RFC 6238, appendix B)",
        arguments: [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ] as [(Int64, String, String, String)])
    func totp(second: Int64, sha1: String, sha256: String, sha512: String) async throws {
        let town = try Town()
        try await town.run("CREATE EXTENSION IF NOT EXISTS pgcrypto")
        let codes = try await town.session.query(
            """
            SELECT lpad((coupons.truncated(hmac(int8send($1 / 30),
                left(repeat('1234567890', 7), v.size)::bytea, v.hash)) % 100000000)::text, 8, '0')
            FROM (VALUES ('sha1', 20), ('sha256', 32), ('sha512', 64)) AS v (hash, size)
            """, [.int64(second)]
        ).map { try $0.text(0) }
        #expect(codes == [sha1, sha256, sha512])
    }

    @Test("the MAC is HMAC-SHA-256, as another program makes it of the same secret")
    func mac() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        try await ground.town.run("CREATE EXTENSION IF NOT EXISTS pgcrypto")
        let differing = try await ground.town.number(
            """
            SELECT count(*) FROM coupons.open_secrets o CROSS JOIN generate_series(1, 50) AS n
            CROSS JOIN LATERAL (SELECT string_agg(set_byte('\\x00', 0,
                get_byte(o.inner_block, b) # 54), '' ORDER BY b) AS key
                FROM generate_series(0, 31) AS b) k
            WHERE coupons.mac(o.inner_block, o.outer_block, int8send(n))
                <> hmac(int8send(n), k.key, 'sha256')
            """)
        #expect(differing == 0)
        #expect(try await ground.town.number("SELECT count(*) FROM coupons.open_secrets") == 26)
    }

    @Test("what stands for a coupon stands for no other, and fits")
    func handles() async throws {
        let town = try Town()
        let row = try await town.session.query(
            """
            SELECT count(*) FILTER (WHERE coupons.coupon_of(h) <> n) AS wrong,
                count(DISTINCT h) AS different, min(h) AS least, max(h) AS most
            FROM (
                SELECT n, coupons.handle_of(n) AS h FROM (
                    SELECT generate_series(0, 4999) UNION ALL
                    SELECT generate_series((1::bigint << 35) - 5000, (1::bigint << 35) - 1)
                ) AS v (n)
            ) all_of_them
            """)
        #expect(try row.int64(0, 0) == 0)
        #expect(try row.int64(0, 1) == 10_000)
        #expect(try row.int64(0, 2) >= 0)
        #expect(try row.int64(0, 3) < 1 << 35)
        await #expect(throws: PostgresError.self) {
            try await town.run("SELECT coupons.handle_of(1::bigint << 35)")
        }
    }

    @Test("base 32 and its check symbol as published")
    func base32() async throws {
        let town = try Town()
        for (number, width, written) in [
            (32, 2, "10*"), (1_234, 3, "16JD"), (123_456_789_012, 8, "3JZ9J6GMB"),
            (1_099_511_627_775, 8, "ZZZZZZZZF"),
        ] as [(Int64, Int32, String)] {
            let text = try await town.session.query(
                "SELECT coupons.base32($1, $2) || coupons.check_symbol($1)",
                [.int64(number), .int32(width)]
            ).text(0, 0)
            #expect(text == written)
            let back = try await town.number(
                "SELECT coupons.base32_value($1)", [.text(String(written.dropLast()))])
            #expect(back == number)
        }
    }

    @Test("a code is taken in its period and the next, and not after")
    func grace() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let shown = try await ground.codes(at: 7)
        #expect(shown.payloadUntil == 30)
        #expect(shown.typedUntil == 300)
        for second in [7, 29, 30, 59] as [Int64] {
            #expect(try await ground.answer(to: shown.payload, at: second) == "ok")
        }
        for second in [60, 89, 10_000] as [Int64] {
            #expect(try await ground.answer(to: shown.payload, at: second) == "too_old")
        }
        for second in [7, 299, 300, 599] as [Int64] {
            #expect(try await ground.answer(to: shown.typed, at: second) == "ok")
        }
        #expect(try await ground.answer(to: shown.typed, at: 600) == "too_old")
    }

    @Test("each coupon has codes of its own, and each period too")
    func different() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let other = try await ground.town.coupon(of: ground.person, at: ground.shop)
        var seen: Set<String> = []
        for second in stride(from: Int64(0), to: 300, by: 30) {
            for coupon in [ground.coupon, other] {
                let codes = try await ground.codes(at: second, of: coupon)
                seen.insert(try #require(codes.payload))
                #expect(
                    try await ground.codes(at: second + 29, of: coupon).payload == codes.payload)
            }
        }
        #expect(seen.count == 20)
    }

    @Test("no worker for five minutes: codes turn all the same, and none is refused")
    func stopped() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        var shown: [String] = []
        for second in stride(from: Int64(0), through: 300, by: 10) {
            let codes = try await ground.codes(at: second)
            let payload = try #require(codes.payload)
            if shown.last != payload { shown.append(payload) }
            #expect(try await ground.answer(to: payload, at: second + 29) == "ok")
            #expect(try await ground.answer(to: codes.typed, at: second + 299) == "ok")
        }
        #expect(shown.count == 11)
    }

    @Test("no worker for an hour: the last codes stay, and have a period more when one is back")
    func dead() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let shown = try await ground.codes(at: 3_599)
        #expect(shown.payloadUntil == nil)
        #expect(try await ground.answer(to: shown.payload, at: 3_599) == "ok")
        try await ground.rotate(at: 3_605)
        #expect(try await ground.codes(at: 3_605).payload != shown.payload)
        #expect(try await ground.answer(to: shown.payload, at: 3_634) == "ok")
        #expect(try await ground.answer(to: shown.payload, at: 3_635) == "too_old")
    }

    @Test("after a leak no code of before is taken")
    func replaced() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let shown = try await ground.codes(at: 10)
        try await ground.rotate(at: 11, replacing: true)
        #expect(try await ground.answer(to: shown.payload, at: 11) == "too_old")
        #expect(try await ground.answer(to: shown.typed, at: 11) == "too_old")
        let new = try await ground.codes(at: 11)
        #expect(try await ground.answer(to: new.payload, at: 70) == "ok")
        #expect(try await ground.answer(to: new.typed, at: 310) == "ok")
    }

    @Test("after a crash of the server the same codes are good again when a worker was there")
    func crashed() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let shown = try await ground.codes(at: 10)
        // What PostgreSQL does to an unlogged table at its recovery.
        try await ground.town.run("TRUNCATE coupons.open_secrets")
        #expect(try await ground.codes(at: 10).payload == nil)
        #expect(try await ground.answer(to: shown.payload, at: 10) == "not_ready")
        #expect(try await ground.answer(to: shown.typed, at: 10) == "not_ready")
        #expect(try await ground.town.jobs("coupons.rotate").count == 1)
        #expect(try await ground.rotate(at: 11).opened == 26)
        #expect(try await ground.codes(at: 10) == shown)
        #expect(try await ground.answer(to: shown.payload, at: 12) == "ok")
    }

    @Test("a worker without the key leaves the secrets to others; an operator can replace them")
    func lostKey() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let shown = try await ground.codes(at: 10)
        try await ground.town.run("TRUNCATE coupons.open_secrets")
        let other = try await CodeGround()
        await #expect(throws: CryptoError.self) {
            try await ground.rotate(at: 11, by: other.keys)
        }
        try await ground.rotate(at: 12)
        #expect(try await ground.answer(to: shown.payload, at: 12) == "ok")
        try await ground.town.run("TRUNCATE coupons.open_secrets")
        try await ground.rotate(at: 13, replacing: true, by: other.keys)
        let codes = try await ground.codes(at: 13)
        #expect(try await ground.answer(to: codes.payload, at: 13) == "ok")
    }

    @Test("damaged secrets are replaced, and secrets without an epoch are no hindrance")
    func damaged() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        try await ground.town.run("TRUNCATE coupons.open_secrets")
        try await ground.town.run("UPDATE coupons.epochs SET sealed = sealed || '\\x00'")
        #expect(try await ground.rotate(at: 11).made == 26)
        let codes = try await ground.codes(at: 11)
        #expect(try await ground.answer(to: codes.payload, at: 11) == "ok")
        try await ground.town.run("DELETE FROM coupons.epochs")
        #expect(try await ground.rotate(at: 11).made == 26)
        #expect(try await ground.rotate(at: 12).made == 0)
    }

    @Test("what is destroyed is nowhere in a dump of the whole database")
    func destroyed() async throws {
        let ground = try await CodeGround()
        try await ground.rotate(at: 0)
        let secrets = try await ground.town.session.query(
            """
            SELECT unnest(ARRAY[encode(e.sealed, 'hex'), encode(o.inner_block, 'hex'),
                encode(o.outer_block, 'hex')])
            FROM coupons.epochs e JOIN coupons.open_secrets o USING (series, starts_at)
            WHERE e.starts_at = to_timestamp($1) ORDER BY 1
            """, [.double(Double(CodeGround.start))]
        ).map { try $0.text(0) }
        #expect(secrets.count == 6)
        // What PostgreSQL does by itself now and then, and keeps samples of what it finds.
        try await ground.town.run("ANALYZE coupons.open_secrets, coupons.epochs")
        let samples = try await ground.town.session.query(
            """
            SELECT coalesce(string_agg(s::text, ' '), '') FROM pg_stats s
            WHERE s.tablename IN ('open_secrets', 'epochs')
            """
        ).text(0, 0)
        #expect(samples.contains("starts_at"))
        for secret in secrets { #expect(!samples.contains(secret)) }
        let before = try await dump()
        for secret in secrets { #expect(before.contains(secret)) }
        let result = try await ground.rotate(at: 600)
        #expect(result.destroyed > 1)
        let after = try await dump()
        #expect(after.contains("coupons.epochs"))
        for secret in secrets { #expect(!after.contains(secret)) }
    }

    /// All that the owner can read.
    private func dump() async throws -> String {
        let program = try Program("/usr/bin/pg_dump", ["--dbname", try TestDatabase.here().url])
        #expect(try await program.end(within: .seconds(120)) == .exited(0), "\(program.errors)")
        return program.output
    }
}
