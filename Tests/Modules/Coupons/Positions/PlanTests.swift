import ErrandCoupons
import Foundation
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The look's plan", .database) struct PlanTests {
    /// A million coupons of 200,000 people, and 100,000 branches of 2,000 establishments.
    private func fill() async throws {
        try await TestDatabase.here().fill(
            """
            -- Plans do not depend on the log, and nothing here need outlive a crash.
            ALTER TABLE missions.missions DROP CONSTRAINT missions_branch_id_fkey;
            ALTER TABLE establishments.branches SET UNLOGGED;
            ALTER TABLE coupons.coupons SET UNLOGGED;
            -- What is generated needs no check against other tables, which would take longest.
            SET session_replication_role = replica;
            SELECT setseed(0.5);
            INSERT INTO establishments.establishments (id, name)
            SELECT n, 'Chain ' || n FROM generate_series(1, 2000) AS n;
            INSERT INTO establishments.branches (establishment_id, name, place)
            SELECT 1 + n % 2000, 'Branch ' || n,
                ST_SetSRID(ST_MakePoint(-74 + random(), 45 + random()), 4326)::geography
            FROM generate_series(1, 100000) AS n;
            INSERT INTO people.people (id, email, birth_date, age_verified_at,
                location_consent_at)
            SELECT n, n || '@example.org', '1990-01-01', '2026-01-01Z', '2026-01-01Z'
            FROM generate_series(1, 200000) AS n;
            -- Everybody has been told of another coupon, and has not left.
            INSERT INTO notification.cooldowns (person_id, subject, since, until, must_leave,
                forget_at)
            SELECT n, 'coupon:' || -n, '2026-06-01Z', '2026-06-02Z', true, '2026-09-01Z'
            FROM generate_series(1, 200000) AS n;
            INSERT INTO coupons.coupons (person_id, establishment_id, title, radius_m, valid_from,
                expires_at)
            SELECT 1 + n % 200000, 1 + (n * 7919::bigint) % 2000, 'Coupon ' || n, 150,
                '2026-01-01Z', '2099-01-01Z'
            FROM generate_series(1, 1000000) AS n;
            SET session_replication_role = origin;
            ANALYZE establishments.establishments, establishments.branches, coupons.coupons,
                people.people,
                notification.cooldowns;
            """)
    }

    /// People, each at a branch where their first coupon counts.
    private func stands(_ town: Town, _ count: Int) async throws -> [(person: Int64, place: Place)]
    {
        try await town.session.query(
            """
            SELECT DISTINCT ON (c.person_id) c.person_id, ST_X(b.place::geometry) AS longitude,
                ST_Y(b.place::geometry) AS latitude
            FROM coupons.coupons c JOIN establishments.branches b USING (establishment_id)
            WHERE c.person_id IN (SELECT n * 397 FROM generate_series(1, $1::int) AS n)
            ORDER BY c.person_id, c.id, b.id
            """,
            [.int32(Int32(count))]
        ).map { row in
            (
                person: try row.int64("person_id"),
                place: Place(try row.double("longitude"), try row.double("latitude"))
            )
        }
    }

    @Test func `among a million coupons the look goes by indexes alone`() async throws {
        let town = try Town()
        try await fill()
        let stands = try await stands(town, 500)
        #expect(stands.count == 500)
        for count in [1, 20, 500] {
            let reports = stands.prefix(count).enumerated().map {
                (n: $0, report: town.report($1.person, $1.place, at: Town.noon))
            }
            let plan = try await town.session.query(
                "EXPLAIN " + Proximity.statement, Proximity.parameters(reports, now: Town.noon)
            ).map { try $0.text(0) }.joined(separator: "\n")
            #expect(!plan.contains("Seq Scan"), "\(count) reports: \(plan)")
            for index in [
                "people_pkey on people", "coupons_live on coupons",
                "branches_establishment_place on branches", "cooldowns_pkey on cooldowns",
            ] {
                #expect(plan.contains("Index Scan using \(index)"), "\(count) reports: \(plan)")
            }
        }
        let findings = try await town.look(stands)
        #expect(findings.allSatisfy { $0.objection == nil && !$0.notices.isEmpty })
    }
}
