import ErrandDelivery
import Foundation
import Errand
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Preferences", .database) struct PreferenceTests {
    private func chosen(_ ground: Ground, _ kind: String) async throws -> [String] {
        try await ground.texts(
            """
            SELECT channel || ' ' || is_on || ' ' || coalesce(choice::text, 'none')
            FROM notification.preferences_of(1) WHERE kind = $1
            """, [.text(kind)])
    }

    @Test func `a choice is read back, overrides that for all kinds, and can be removed`()
        async throws
    {
        let ground = try await Ground()
        _ = try await ground.person()
        func set(_ kind: String, _ channel: String, _ isOn: Bool?) async throws {
            try await ground.run(
                "SELECT notification.set_preference(1, $1, $2, $3)",
                [.text(kind), .text(channel), isOn.map(Parameter.bool) ?? .null])
        }
        #expect(
            try await chosen(ground, "t.note") == [
                "push true none", "email true none", "inbox true none",
            ])
        try await set("*", "email", false)
        try await set("t.note", "push", false)
        try await set("t.note", "push", false)
        #expect(
            try await chosen(ground, "t.note") == [
                "push false false", "email false none", "inbox true none",
            ])
        #expect(try await chosen(ground, "*")[1] == "email false false")
        try await set("t.note", "email", true)
        #expect(try await chosen(ground, "t.note")[1] == "email true true")
        for (kind, channel) in [("*", "email"), ("t.note", "push"), ("t.note", "email")] {
            try await set(kind, channel, nil)
        }
        #expect(try await ground.number("SELECT count(*) FROM notification.preferences") == 0)
        // Urgent kinds are sent whatever is turned off.
        try await set("t.code", "push", false)
        #expect(try await chosen(ground, "t.code") == ["push true false", "email true none"])
        #expect(
            try await ground.texts(
                """
                SELECT DISTINCT can_be_off::text FROM notification.preferences_of(1)
                WHERE kind = 't.code'
                """) == ["false"])
        #expect(
            try await ground.number("SELECT count(*) FROM notification.preferences_of(2)") == 0)
    }

    @Test(
        "what is wrong is said",
        arguments: [
            ("2, 't.note', 'push', true", "no person has the id 2"),
            ("1, 't.bogus', 'push', true", "kind t.bogus: expected a declared kind of notice"),
            ("1, 't.near', 'email', true", "kind t.near is not sent by email"),
            ("1, 't.note', 'letter', true", "channel letter: expected push, email or inbox"),
            ("1, NULL, 'push', true", "kind null: expected a declared kind"),
        ])
    func wrong(arguments: String, message: String) async throws {
        let ground = try await Ground()
        _ = try await ground.person()
        await #expect {
            try await ground.run("SELECT notification.set_preference(\(arguments))")
        } throws: { "\($0)".contains(message) }
    }

    // "*both* cannot be had for coupons".
    @Test func `who has chosen mail of a coupon near by gets push and mail both`() async throws {
        let ground = try await Ground()
        let ada = try await ground.person()
        try await ground.device(of: ada, "token-1", app: "survey")
        let data = #"""
            {"title": "Two for one", "branch": "Main Street", "distance": 120,
             "last_day": "2099-01-31"}
            """#
        func providers(_ subject: String) async throws -> [String] {
            try await ground.pool.transaction { transaction in
                _ = try await NoticePlanner(EveryNotice.catalogue, client: ground.client).notify(
                    [
                        Intent(
                            "coupon.nearby", to: ada, of: subject, data: [UInt8](data.utf8),
                            dedupeKey: subject, expiresAt: .infinity)
                    ], now: Ground.noon, in: transaction)
            }
            return try await ground.texts(
                """
                SELECT d.provider FROM notification.deliveries d
                JOIN notification.notices n ON n.id = d.notice_id WHERE n.subject = $1 ORDER BY 1
                """, [.text(subject)])
        }
        #expect(try await providers("coupon:1") == ["fcm"])
        try await ground.run(
            "SELECT notification.set_preference($1, 'coupon.nearby', 'email', true)", [.int64(ada)])
        #expect(try await providers("coupon:2") == ["fcm", "mail"])
    }
}
