import ErrandCoupons
import Foundation
import ErrandNotification
import ErrandPostgres
import ErrandTestServices
import Testing

@Suite("The reminder's plan", .database) struct ExpiryPlanTests {
    /// 50,000 people in twenty zones, with a quarter of a million coupons that expire over 83 days.
    private func fill() async throws {
        try await TestDatabase.here().fill(
            """
            -- Plans do not depend on the log, and nothing here need outlive a crash.
            ALTER TABLE coupons.coupons SET UNLOGGED;
            -- What is generated needs no check against other tables, which would take longest.
            SET session_replication_role = replica;
            SELECT setseed(0.5);
            INSERT INTO people.people (id, email, birth_date, age_verified_at, time_zone)
            SELECT n, n || '@example.org', '1990-01-01', '2026-01-01Z',
                (ARRAY['America/Toronto', 'America/Halifax',
                'America/Chicago', 'America/Sao_Paulo', 'America/St_Johns', 'America/Bogota',
                'Europe/London', 'Europe/Paris', 'Europe/Berlin', 'Europe/Athens', 'Africa/Lagos',
                'Africa/Cairo', 'Africa/Nairobi', 'Atlantic/Reykjavik', 'UTC', 'Asia/Tokyo',
                'Asia/Dubai', 'Asia/Kolkata', 'Australia/Sydney', 'Pacific/Auckland'])[1 + n % 20]
            FROM generate_series(1, 50000) AS n;
            INSERT INTO coupons.coupons (person_id, establishment_id, title, radius_m, valid_from,
                expires_at)
            SELECT 1 + n % 50000, 1, 'Coupon ' || n, 150, '2026-01-01Z',
                timestamptz '2026-06-10Z' + random() * interval '83 days'
            FROM generate_series(1, 250000) AS n;
            SET session_replication_role = origin;
            """)
        try await TestDatabase.here().fill("VACUUM ANALYZE coupons.coupons, people.people")
    }

    @Test func `among many coupons a run goes by indexes alone`() async throws {
        let ground = try await ExpiryGround()
        try await fill()
        let due = "2026-06-15T15:00:00Z"
        let run = try ground.expiry(due)
        let scans = try await run.run.scans()
        #expect(scans.map(\.windows.count) == [20, 20])
        for scan in scans {
            try await expectIndexes(ground, Expiry.statement, run.parameters(scan))
        }
        try await expectIndexes(ground, ExpiryRun.zoneNames, [])

        #expect(try await run.notify() > 3_750)
        #expect(try await run.notify() == 0)
        try await ground.expectOneJobEach()
    }

    private func expectIndexes(
        _ ground: ExpiryGround, _ sql: String, _ parameters: [Parameter]
    ) async throws {
        let plan = try await ground.town.session.query("EXPLAIN " + sql, parameters)
            .map { try $0.text(0) }.joined(separator: "\n")
        #expect(!plan.contains("Seq Scan"), "\(plan)")
        for index in sql == ExpiryRun.zoneNames
            ? ["people_zones on people"]
            : [
                "coupons_expiring on coupons", "people_pkey on people",
                "coupons_listed on coupons",
                "notices_dedupe_key_key on notices",
            ]
        {
            #expect(plan.contains(index), "\(plan)")
        }
    }
}
