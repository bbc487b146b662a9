import FoundationEssentials
import JobQueue
import Notifications
import Postgres

/// Finds, for many reports at once, the coupons that count near by, and tells their holders.
enum Proximity {
    /// A person is told of a coupon once in this time, in seconds.
    private static let cooldown = 86_400.0

    /// One statement for the whole batch, in the order of the business.
    ///
    /// 1. who may be told at all: consent to notices by place, and 16 or older, with a day added
    ///    so that it holds wherever on Earth the person is;
    /// 2. which live coupons of theirs count at a branch within the offer's radius, where the
    ///    report is accurate enough for that radius; the nearest branch of each;
    /// 3. the cooldown of person and coupon, taken by compare-and-set: of any number of workers
    ///    one gets the row;
    /// 4. the notice.
    ///
    /// Distances are on the sphere: at these lengths the error is under a metre. Returns a row
    /// for each report: whether the person may be told, the widest radius of their coupons (null
    /// for none), and the notices made.
    private static let statement = """
        WITH report AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy,
                ST_SetSRID(ST_MakePoint(r.longitude, r.latitude), 4326)::geography AS place,
                p.location_consent_at IS NOT NULL AND p.birth_date
                    <= (($6 AT TIME ZONE 'UTC')::date - 1 - interval '16 years')::date
                    AS may_be_told
            FROM unnest($1::int[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[])
                AS r (n, person_id, longitude, latitude, accuracy)
            LEFT JOIN notification.people p ON p.id = r.person_id
        ), held AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, r.place, c.id, c.title, c.establishment_id,
                c.radius_m, c.expires_at
            FROM report r JOIN coupons.coupons c ON c.person_id = r.person_id
            WHERE r.may_be_told AND c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.valid_from <= $6 AND c.expires_at > $6
        ), near AS (
            SELECT h.n, h.person_id, 'coupon:' || h.id AS subject, h.title, h.expires_at,
                b.name, b.distance
            FROM held h CROSS JOIN LATERAL (
                SELECT b.name, ST_Distance(b.place, h.place, false) AS distance
                FROM coupons.branches b
                WHERE b.establishment_id = h.establishment_id
                  AND ST_DWithin(b.place, h.place, h.radius_m, false)
                ORDER BY distance LIMIT 1
            ) b
            WHERE h.accuracy <= h.radius_m
        ), reserved AS (
            INSERT INTO notification.cooldowns AS c (person_id, subject, until)
            SELECT DISTINCT person_id, subject, $6 + make_interval(secs => $7) FROM near
            ORDER BY person_id, subject
            ON CONFLICT (person_id, subject) DO UPDATE SET until = excluded.until
            WHERE c.until <= $6
            RETURNING person_id, subject
        ), told AS (
            INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key,
                created_at, expires_at)
            SELECT DISTINCT ON (person_id, subject) person_id, 'coupon.nearby', subject,
                jsonb_build_object('title', title, 'branch', name, 'distance', distance,
                    'expires', to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
                subject || ':' || person_id || ':' || extract(epoch FROM $6), $6,
                least(expires_at, $6 + interval '1 hour')
            FROM near JOIN reserved USING (person_id, subject)
            ORDER BY person_id, subject, distance
            RETURNING id, person_id
        )
        SELECT r.n, coalesce(r.may_be_told, false) AS may_be_told,
            (SELECT max(h.radius_m)::float8 FROM held h WHERE h.n = r.n) AS widest,
            (SELECT array_agg(t.id) FROM told t WHERE t.person_id = r.person_id) AS notices
        FROM report r
        """

    /// Handles a batch: notices, their e-mail jobs and the ends of the reports in one transaction.
    static func look(at batch: JobBatch<PositionReport>) async throws -> [Outcome] {
        guard let first = batch.items.first else { return [] }
        let now = first.context.now
        var outcomes = batch.items.map { item -> Outcome in
            PositionRules.objection(to: item.job, now: now).map { .discard(reason: $0) } ?? .done
        }
        let good = outcomes.indices.filter { outcomes[$0] == .done }
        guard !good.isEmpty else { return outcomes }

        let decided = try await first.context.database.transaction { transaction in
            let rows = try await transaction.query(
                statement, parameters(good.map { (n: $0, job: batch.items[$0].job) }, now: now))
            var decided = outcomes
            var notices: [EmailNotice] = []
            for row in rows {
                let n = Int(try row.int32("n"))
                if let objection = try objection(row, batch.items[n].job) {
                    decided[n] = .discard(reason: objection)
                }
                for id in try row.optionalInt64Array("notices") ?? [] {
                    notices.append(EmailNotice(noticeID: id))
                }
            }
            if !notices.isEmpty {
                try await first.context.client.enqueue(
                    notices, EnqueueOptions(notAfter: now.addingTimeInterval(3_600)),
                    in: transaction)
            }
            try await batch.complete(
                decided.indices.filter { decided[$0] == .done }.map { batch.items[$0] },
                in: transaction)
            return decided
        }
        outcomes = decided
        return outcomes
    }

    private static func objection(_ row: Row, _ report: PositionReport) throws -> String? {
        guard try row.bool("may_be_told") else {
            return "no consent to notices by place, or not known to be 16"
        }
        guard let widest = try row.optionalDouble("widest") else { return nil }
        return PositionRules.objection(toAccuracy: report.accuracy, widestRadius: widest)
    }

    private static func parameters(
        _ reports: [(n: Int, job: PositionReport)], now: Date
    ) -> [Parameter] {
        [
            .int32Array(reports.map { Int32($0.n) }), .int64Array(reports.map(\.job.personID)),
            .doubleArray(reports.map(\.job.longitude)),
            .doubleArray(reports.map(\.job.latitude)),
            .doubleArray(reports.map(\.job.accuracy)),
            .timestamp(Instant(date: now)), .double(cooldown),
        ]
    }
}
