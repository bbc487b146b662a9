import ErrandCoupons
import Foundation
import Errand
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("Ages and coupons", .database) struct AgeTests {
    /// People who get nothing, and why.
    static let people: [(born: String?, isBlocked: Bool, reason: String)] = [
        (nil, false, "no_birth_date"), ("2020-05-17", false, "under_age"),
        ("1990-05-17", true, "blocked"), ("2020-05-17", true, "under_age"),
    ]

    private func person(_ town: Town, _ of: (born: String?, isBlocked: Bool, reason: String))
        async throws -> Int64
    {
        let person = try await town.person(born: of.born)
        if of.isBlocked {
            try await town.run(
                "UPDATE people.people SET blocked_at = now() WHERE id = $1", [.int64(person)])
        }
        return person
    }

    /// The SQLSTATE and the reason of a refusal; nil if there is none.
    private func refusal(_ town: Town, _ sql: String, _ parameters: [Parameter]) async throws
        -> String?
    {
        do throws(PostgresError) {
            _ = try await town.session.query(sql, parameters)
            return nil
        } catch {
            guard case .server(let server) = error else { throw error }
            return "\(server.sqlState) \(server.detail ?? "")"
        }
    }

    private static let grant = """
        SELECT coupons.grant_coupon($1, $2, 'A free coffee', '2099-01-01', 'survey:1')
        """

    // "Age 16 is not looked at when money moves: … `grant_coupon`, `coupons.code`, … ask nothing".
    @Test(arguments: people)
    func `who may get no goods is granted none, and shown no code`(
        of: (born: String?, isBlocked: Bool, reason: String)
    ) async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await person(town, of))
        #expect(
            try await refusal(town, Self.grant, [.int64(person), .int64(shop)])
                == "RU001 \(of.reason)")
        #expect(try await town.number("SELECT count(*) FROM coupons.coupons") == 0)
        let coupon = try await town.coupon(of: person, at: shop)
        let code = try await town.session.query(
            "SELECT state, payload, typed FROM coupons.code($1, $2)",
            [.int64(coupon), .int64(person)])
        #expect(try code.text(0, 0) == of.reason)
        #expect(try code.first?.optionalText("payload") == nil)
        #expect(try code.first?.optionalText("typed") == nil)
    }

    // "Age 16 is not looked at when money moves: … `report_position` ask nothing".
    @Test(arguments: people)
    func `their position is dropped, and the answer does not tell`(
        of: (born: String?, isBlocked: Bool, reason: String)
    ) async throws {
        let town = try Town()
        let person = try await person(town, of)
        let report = try await town.reportPosition(person, .montreal)
        #expect(report > 0)
        #expect(try await town.job(report) == nil)
        #expect(try await town.jobs(PositionReport.kind).isEmpty)
        let other = try await town.person()
        let another = try await town.reportPosition(other, .montreal)
        #expect(another > report)
        #expect(try await town.job(another) != nil)
    }

    @Test func `what was granted before is answered again`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let parameters: [Parameter] = [.int64(person), .int64(shop)]
        let coupon = try await town.number(Self.grant, parameters)
        try await town.run("SELECT people.block($1)", [.int64(person)])
        #expect(try await town.number(Self.grant, parameters) == coupon)
    }

    @Test func `nobody redeems the coupon of a person who is blocked, until they are kept`()
        async throws
    {
        let ground = try await CodeGround()
        try await ground.rotate(at: nil)
        let town = ground.town
        let (coupon, person) = (Parameter.int64(ground.coupon), Parameter.int64(ground.person))
        func code() async throws -> (state: String, payload: String?) {
            let row = try await town.session.query(
                "SELECT state, payload FROM coupons.code($1, $2)", [coupon, person])
            return (try row.text(0, 0), try row.first?.optionalText("payload"))
        }
        func answer(_ call: String, _ payload: String) async throws -> String {
            try await town.session.query(
                "SELECT reason FROM coupons.\(call)", [.text(payload), .int64(ground.shop)]
            ).text(0, 0)
        }
        let payload = try #require(try await code().payload)
        // A coupon that was void before stays so.
        let void = try await town.coupon(of: ground.person, at: ground.shop)
        try await town.run("SELECT coupons.void($1, 'printed twice')", [.int64(void)])
        try await town.run("SELECT people.block($1)", [person])
        #expect(try await code().state == "blocked")
        #expect(try await answer("verify($1, $2, 't')", payload) == "voided")
        #expect(try await answer("redeem($1, $2, 't', 'r')", payload) == "voided")
        // The one that was voided before is shown with its reason.
        #expect(try await town.number("SELECT id FROM coupons.listing($1)", [person]) == void)
        try await town.run(
            "UPDATE people.people SET blocked_at = NULL WHERE id = $1", [person])
        #expect(try await code().state == "usable")
        #expect(try await answer("redeem($1, $2, 't', 'r')", payload) == "ok")
        #expect(
            try await town.session.query(
                "SELECT coupons.void($1, 'x')", [.int64(void)]
            ).text(0, 0) == "voided")
    }

    @Test func `a coupon that is voided while its person is blocked stays void`() async throws {
        let town = try Town()
        let (shop, person) = (try await town.establishment(), try await town.person())
        let coupon = try await town.coupon(of: person, at: shop)
        let kept = try await town.coupon(of: person, at: shop)
        try await town.run("SELECT people.block($1)", [.int64(person)])
        let rows = CouponRows(session: town.session)
        func void() async throws -> Voiding? {
            try await rows.void([coupon], by: "ann", reason: "printed twice")[coupon]
        }
        #expect(try await void() == .voided)
        #expect(try await void() == .already)
        try await town.run(
            "UPDATE people.people SET blocked_at = NULL WHERE id = $1", [.int64(person)])
        #expect(
            try await town.session.query(
                "SELECT id || ' ' || state || coalesce(': ' || voided_reason, '') "
                    + "FROM coupons.listing($1)", [.int64(person)]
            ).map { try $0.text(0) } == ["\(kept) usable", "\(coupon) voided: printed twice"])
        #expect(
            try await town.number(
                "SELECT count(*) FROM errand.audit WHERE action = 'coupon void'") == 1)
    }
}
