package import FoundationEssentials
import JobQueue
import Notifications
package import Postgres

/// Finds, for many reports at once, the coupons that count near by, and tells their holders.
package enum Proximity {
    /// A person is told of a coupon once in this time, in seconds.
    private static let cooldown = 86_400.0

    /// One statement for the whole batch, in the order of the business.
    ///
    /// 1. who may be told at all: consent to notices by place, and 16 or older, with a day added
    ///    so that it holds wherever on Earth the person is; and an address that takes mail;
    /// 2. which live coupons of theirs count at a branch within the offer's radius, where the
    ///    report is accurate enough for that radius; the nearest branch of each;
    /// 3. the cooldown of person and coupon, taken by compare-and-set: of any number of workers
    ///    one gets the row;
    /// 4. the notice, with the last day of the coupon by the person's calendar.
    ///
    /// Returns a row for each report: whether the person may be told and has an address, the widest
    /// radius of their coupons (null for none), and the notices made: those of a person stand
    /// beside the first of their reports alone.
    package static let statement = """
        WITH report AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy,
                ST_SetSRID(ST_MakePoint(r.longitude, r.latitude), 4326)::geography AS place,
                row_number() OVER (PARTITION BY r.person_id ORDER BY r.n) = 1 AS is_first,
                p.location_consent_at IS NOT NULL AND p.birth_date
                    <= (($6 AT TIME ZONE 'UTC')::date - 1 - interval '16 years')::date
                    AS may_be_told,
                p.email IS NOT NULL AND p.email_refused_at IS NULL AS has_address
            FROM unnest($1::int[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[])
                AS r (n, person_id, longitude, latitude, accuracy)
            LEFT JOIN notification.people p ON p.id = r.person_id
        ), held AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, r.place, c.id, c.title, c.establishment_id,
                c.radius_m, c.expires_at
            FROM report r JOIN coupons.coupons c ON c.person_id = r.person_id
            WHERE r.may_be_told AND r.has_address AND c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.valid_from <= $6 AND c.expires_at > $6
        ), near AS (
            SELECT h.person_id, 'coupon:' || h.id AS subject, h.title, h.expires_at,
                b.name, b.distance
            FROM held h CROSS JOIN LATERAL (
                SELECT b.name, ST_Distance(b.place, h.place) AS distance
                FROM coupons.branches b
                WHERE b.establishment_id = h.establishment_id
                  AND ST_DWithin(b.place, h.place, h.radius_m)
                ORDER BY distance LIMIT 1
            ) b
            WHERE h.accuracy <= h.radius_m
        ), reserved AS (
            INSERT INTO notification.cooldowns AS c (person_id, subject, since, until)
            SELECT DISTINCT person_id, subject, $6, $6 + make_interval(secs => $7) FROM near
            ORDER BY person_id, subject
            ON CONFLICT (person_id, subject)
            DO UPDATE SET since = excluded.since, until = excluded.until
            WHERE c.until <= $6
            RETURNING person_id, subject
        ), told AS (
            INSERT INTO notification.notices (person_id, kind, subject, data, dedupe_key,
                created_at, expires_at)
            SELECT DISTINCT ON (n.person_id, n.subject) n.person_id, 'coupon.nearby', n.subject,
                jsonb_build_object('title', n.title, 'branch', n.name, 'distance', n.distance,
                    'last_day', to_char((n.expires_at - interval '1 microsecond')
                        AT TIME ZONE p.time_zone, 'YYYY-MM-DD')),
                n.subject || ':' || n.person_id || ':' || extract(epoch FROM $6), $6,
                least(n.expires_at, $6 + interval '1 hour')
            FROM near n JOIN reserved USING (person_id, subject)
            JOIN notification.people p ON p.id = n.person_id
            ORDER BY n.person_id, n.subject, n.distance
            RETURNING id, person_id
        )
        SELECT r.n, coalesce(r.may_be_told, false) AS may_be_told, r.has_address, w.widest,
            t.notices
        FROM report r
        LEFT JOIN (SELECT n, max(radius_m)::float8 AS widest FROM held GROUP BY n) w ON w.n = r.n
        LEFT JOIN (SELECT person_id, array_agg(id) AS notices FROM told GROUP BY person_id) t
            ON t.person_id = r.person_id AND r.is_first
        """

    /// What came of one report.
    package struct Finding: Sendable {
        /// Why it was dropped; nil when it was good.
        package var objection: String?
        /// The notices that it made.
        package var notices: [Int64] = []
    }

    /// Looks at reports as of `now` and writes the notices.
    ///
    /// - Returns: a finding for each report, in their order.
    package static func look(
        at reports: [PositionReport], now: Date, in transaction: Transaction
    ) async throws -> [Finding] {
        var findings = reports.map { Finding(objection: PositionRules.objection(to: $0, now: now)) }
        let good = findings.indices.filter { findings[$0].objection == nil }
        guard !good.isEmpty else { return findings }
        // A plan for any number of reports expects ten of them, and joins five hundred in loops.
        let rows = try await transaction.pipeline([
            Statement("SET LOCAL plan_cache_mode = force_custom_plan"),
            Statement(statement, parameters(good.map { ($0, reports[$0]) }, now: now)),
            Statement("SET LOCAL plan_cache_mode = auto"),
            Cooldowns.forget(now: now),
        ])[1]
        for row in rows {
            let n = Int(try row.int32("n"))
            findings[n] = Finding(
                objection: try objection(row, reports[n]),
                notices: try row.optionalInt64Array("notices") ?? [])
        }
        return findings
    }

    /// Handles a batch: notices, their e-mail jobs and the ends of the reports in one transaction.
    static func handle(_ batch: JobBatch<PositionReport>) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        do {
            return try await context.database.transaction { transaction in
                let findings = try await look(
                    at: batch.items.map(\.job), now: context.now, in: transaction)
                // No deadline: the mail's own job sees that a notice has expired, and says so.
                try await context.client.enqueue(
                    findings.flatMap(\.notices).map(EmailNotice.init(noticeID:)), in: transaction)
                try await batch.complete(
                    zip(batch.items, findings).filter { $0.1.objection == nil }.map(\.0),
                    in: transaction)
                return findings.map { finding in
                    finding.objection.map { .discard(reason: $0) } ?? .done
                }
            }
        } catch let error as PostgresError where !Task.isCancelled {
            // Those that are too old by now end as such, whatever fails for the others.
            return batch.items.map { item in
                PositionRules.objection(to: item.job, now: context.now)
                    .map { .discard(reason: $0) } ?? .retry(after: nil, reason: "\(error)")
            }
        }
    }

    private static func objection(_ row: Row, _ report: PositionReport) throws -> String? {
        guard try row.bool("may_be_told") else {
            return "no consent to notices by place, or not known to be 16"
        }
        guard try row.bool("has_address") else { return "no address that takes mail" }
        guard let widest = try row.optionalDouble("widest") else { return nil }
        return PositionRules.objection(toAccuracy: report.accuracy, widestRadius: widest)
    }

    /// Those of the statement: the reports with their numbers, the time, the cooldown.
    package static func parameters(
        _ reports: [(n: Int, report: PositionReport)], now: Date
    ) -> [Parameter] {
        [
            .int32Array(reports.map { Int32($0.n) }), .int64Array(reports.map(\.report.personID)),
            .doubleArray(reports.map(\.report.longitude)),
            .doubleArray(reports.map(\.report.latitude)),
            .doubleArray(reports.map(\.report.accuracy)),
            .timestamp(Instant(date: now)), .double(cooldown),
        ]
    }
}
