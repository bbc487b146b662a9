import ErrandPostgres
import ErrandTestServices
import Foundation

/// What a hacked till does to guess typed codes.
extension CodeGround {
    /// The function of tills that an attack calls, for a `guess` and its number `n`.
    enum Spelling: String, Sendable, CaseIterable {
        case verify = "coupons.verify(guess, shop, terminal)"
        case redeem = "coupons.redeem(guess, shop, terminal, n::text)"
        /// At another terminal each time.
        case strangers = "coupons.verify(guess, shop, terminal || n)"
        case redeemingStrangers = "coupons.redeem(guess, shop, terminal || n, 'the same')"
    }

    private static func attack(_ spelling: Spelling) -> String {
        """
        DO $$
        DECLARE
            shop CONSTANT bigint := current_setting('attack.shop')::bigint;
            terminal CONSTANT text := current_setting('attack.terminal');
            guess text;
            n int := 0;
            answer record;
            reasons jsonb := '{}';
        BEGIN
            FOREACH guess IN ARRAY string_to_array(current_setting('attack.codes'), ' ') LOOP
                n := n + 1;
                BEGIN
                    SELECT * INTO answer FROM \(spelling.rawValue);
                    RAISE EXCEPTION USING ERRCODE = 'ER001', MESSAGE = answer.reason;
                EXCEPTION WHEN SQLSTATE 'ER001' THEN
                    reasons := reasons || jsonb_build_object(SQLERRM,
                        coalesce((reasons ->> SQLERRM)::int, 0) + 1);
                END;
            END LOOP;
            PERFORM set_config('attack.reasons', reasons::text, false);
        END $$
        """
    }

    /// How often each reason is the answer to codes that a login tries, each in a subtransaction
    /// that it rolls back.
    func attack(
        _ session: Session, _ codes: [String], by spelling: Spelling = .verify, terminal: String
    ) async throws -> [String: Int] {
        for (name, value) in [
            ("codes", codes.joined(separator: " ")), ("shop", "\(shop)"), ("terminal", terminal),
        ] {
            _ = try await session.query(
                "SELECT set_config($1, $2, false)", [.text("attack.\(name)"), .text(value)])
        }
        try await session.script(Self.attack(spelling))
        let reasons = try await session.query("SELECT current_setting('attack.reasons')")
        return try JSONDecoder().decode([String: Int].self, from: Data(try reasons.text(0, 0).utf8))
    }

    /// Repeats what has passed into the next period of five minutes, where the counts start again.
    func inOnePeriod<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            let period = "SELECT coupons.period_number(clock_timestamp())"
            let before = try await town.number(period)
            let value = try await body()
            if try await town.number(period) == before { return value }
            // Its end was counted in the new period.
            try await town.session.script(
                """
                DO $$
                DECLARE
                    counter regclass;
                BEGIN
                    FOR counter IN SELECT c.oid FROM pg_class c WHERE c.relkind = 'S'
                        AND c.relnamespace = 'coupons'::regnamespace
                        AND c.relname ~ '^guess_counter_'
                    LOOP
                        EXECUTE format('ALTER SEQUENCE %s RESTART', counter);
                    END LOOP;
                END $$
                """)
        }
    }

    /// The answer to a code by the present time.
    func reason(
        _ session: Session, _ call: String, _ code: String, shop: Int64? = nil, terminal: String
    ) async throws -> String {
        try await session.query(
            "SELECT reason FROM coupons.\(call)",
            [.text(code), .int64(shop ?? self.shop), .text(terminal)]
        ).text(0, 0)
    }

    /// The codes that a coupon's app shows now.
    func shown(_ coupon: Int64) async throws -> (payload: String, typed: String) {
        let rows = try await town.session.query(
            "SELECT payload, typed FROM coupons.code($1, $2)", [.int64(coupon), .int64(person)])
        return (try rows.text(0, 0), try rows.text(0, 1))
    }

    /// A coupon's typed code, changed by 3,000 to 0 in its secret bits: the last one is right.
    func guesses(of typed: String, _ count: Int = 3_001) async throws -> [String] {
        try await town.session.query(
            """
            SELECT coupons.base32(w.value, 12) || coupons.check_symbol(w.value)
            FROM generate_series($2::int - 1, 0, -1) AS n CROSS JOIN LATERAL (SELECT
                coupons.base32_value(left(replace($1, '-', ''), 12)) # n AS value) AS w
            """, [.text(typed), .int32(Int32(count))]
        ).map { try $0.text(0) }
    }
}
