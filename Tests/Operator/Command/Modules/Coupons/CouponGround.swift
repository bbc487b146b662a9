import Foundation
import ErrandTestServices
import Testing

/// Two people, two establishments, and keys by which codes turn.
struct CouponGround {
    let keys: KeyRing

    init() async throws {
        keys = try KeyRing([KeyRing.line("mine", 7)])
        try await change(
            """
            INSERT INTO people.people (email, birth_date, age_verified_at, quiet_from,
                quiet_until)
            SELECT 'person' || n || '@example.org', '1990-05-17', now(), NULL, NULL
            FROM generate_series(1, 2) AS n;
            INSERT INTO establishments.establishments (name) VALUES ('Cafe'), ('Bakery')
            """)
    }

    /// Runs `errand coupon` with the keys.
    func coupon(
        _ words: String..., input: String? = nil, at place: SourceLocation = #_sourceLocation
    ) async throws -> Run {
        try await errand(
            ["coupon"] + words, input: input, environment: keys.environment, at: place)
    }

    /// Grants a coupon and returns its id.
    func granted(
        to person: Int = 1, at establishment: Int = 1, expires: String = "2099-01-01T00:00:00Z",
        origin: String = UUID().uuidString
    ) async throws -> String {
        let run = try await coupon(
            "grant", "--person", "\(person)", "--establishment", "\(establishment)", "--title",
            "A coffee", "--expires", expires, "--origin", origin, "-oname")
        run.expect(0)
        return run.output.trimmingCharacters(in: .newlines)
    }

    /// The codes of a coupon, after a rotation.
    func codes(of id: String) async throws -> (payload: String, typed: String) {
        try await coupon("rotate").expect(0)
        let run = try await coupon("code", id, "-ojson")
        run.expect(0)
        let record = try run.record
        return (
            try #require(record["payload"].text), try #require(record["typed"].text)
        )
    }
}

/// Works on a new ground.
func withCoupons(_ body: (CouponGround) async throws -> Void) async throws {
    let ground = try await CouponGround()
    defer { ground.keys.remove() }
    try await body(ground)
}
