package import FoundationEssentials
import Errand
package import ErrandNotification
package import ErrandPostgres

/// Finds coupons accepted near the positions of many reports, and notifies their holders.
package enum Proximity {
    /// Finds the nearby coupons of a whole batch.
    ///
    /// 1. the people who consented to notices by place;
    /// 2. their live coupons without a current cooldown, and those whose cooldown still waits
    ///    for the person to leave;
    /// 3. the nearest branch of each within the offer's radius, if the report is accurate enough
    ///    for that radius; within 1.5 times the radius for coupons that wait for a leave.
    ///
    /// Returns a row for each report: the person's consent and the widest radius of their coupons
    /// (null without coupons). The row of a person's first report also has the nearby coupons,
    /// nearest branch first, with the last day in the person's calendar, and the coupons whose
    /// branches the person has left.
    package static let statement = """
        WITH report AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, p.time_zone,
                ST_SetSRID(ST_MakePoint(r.longitude, r.latitude), 4326)::geography AS place,
                row_number() OVER (PARTITION BY r.person_id ORDER BY r.n) = 1 AS is_first,
                p.location_consent_at IS NOT NULL AS may_be_notified
            FROM unnest($1::int[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[])
                AS r (n, person_id, longitude, latitude, accuracy)
            LEFT JOIN people.people p ON p.id = r.person_id
        ), held AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, r.place, r.time_zone, 'coupon:' || c.id AS subject,
                c.title, c.establishment_id, c.radius_m, c.expires_at
            FROM report r JOIN coupons.coupons c ON c.person_id = r.person_id
            WHERE r.may_be_notified AND c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.expired_at IS NULL AND c.valid_from <= $6 AND c.expires_at > $6
        ), notified AS MATERIALIZED (
            SELECT c.person_id, c.subject, c.until > $6 AS is_new,
                c.must_leave AND c.left_at IS NULL AS is_there
            FROM report r JOIN notification.cooldowns c ON c.person_id = r.person_id
            WHERE r.is_first AND r.may_be_notified
              AND (c.until > $6 OR c.must_leave AND c.left_at IS NULL)
        ), looked AS (
            SELECT h.person_id, h.time_zone, h.subject, h.title, h.radius_m, h.expires_at, b.name,
                b.distance, coalesce(t.is_there, false) AS is_there
            FROM held h LEFT JOIN notified t ON t.person_id = h.person_id AND t.subject = h.subject
            LEFT JOIN LATERAL (
                SELECT b.name, ST_Distance(b.place, h.place) AS distance
                FROM establishments.branches b
                WHERE b.establishment_id = h.establishment_id AND b.closed_at IS NULL
                  AND ST_DWithin(b.place, h.place,
                      h.radius_m * CASE WHEN t.is_there THEN 1.5 ELSE 1 END)
                ORDER BY distance LIMIT 1
            ) b ON true
            WHERE h.accuracy <= h.radius_m AND (t.subject IS NULL OR t.is_there)
        ), near AS (
            SELECT DISTINCT ON (person_id, subject) person_id, subject, expires_at,
                jsonb_build_object('title', title, 'branch', name, 'distance', distance,
                    'last_day', to_char((expires_at - interval '1 microsecond')
                        AT TIME ZONE time_zone, 'YYYY-MM-DD'))::text AS data
            FROM looked WHERE NOT is_there AND distance IS NOT NULL
            ORDER BY person_id, subject, distance
        )
        SELECT r.n, coalesce(r.may_be_notified, false) AS may_be_notified, w.widest,
            t.subjects, t.data, t.ends, l.subjects AS left_subjects
        FROM report r
        LEFT JOIN (SELECT n, max(radius_m)::float8 AS widest FROM held GROUP BY n) w ON w.n = r.n
        LEFT JOIN (
            SELECT person_id, array_agg(subject ORDER BY subject) AS subjects,
                array_agg(data ORDER BY subject) AS data,
                array_agg(expires_at ORDER BY subject) AS ends
            FROM near GROUP BY person_id
        ) t ON t.person_id = r.person_id AND r.is_first
        LEFT JOIN (
            SELECT person_id, array_agg(subject) AS subjects FROM looked
            WHERE is_there AND distance IS NULL GROUP BY person_id
        ) l ON l.person_id = r.person_id AND r.is_first
        """

    /// How long a notice about a nearby coupon is valid, in seconds.
    private static let life = 3_600.0

    /// The result of one report.
    package struct Finding: Sendable {
        /// Why the report was dropped; nil if it was valid.
        package var objection: String?
        /// The notices that it created.
        package var notices: [Int64] = []
    }

    /// The coupons that the statement found for one report.
    private struct Found {
        var finding: Int
        var intents: [Intent] = []
        var left: [(person: Int64, subject: String)] = []
    }

    /// Checks reports as of `now` and notifies people.
    ///
    /// - Returns: a finding for each report, in the same order.
    package static func look(
        at reports: [PositionReport], now: Date, notices planner: NoticePlanner,
        in transaction: Transaction
    ) async throws -> [Finding] {
        var findings = reports.map { Finding(objection: PositionRules.objection(to: $0, now: now)) }
        let good = findings.indices.filter { findings[$0].objection == nil }
        guard !good.isEmpty else { return findings }
        // A generic plan expects ten reports, and would use nested loops for five hundred.
        let rows = try await transaction.pipeline([
            Statement("SET LOCAL plan_cache_mode = force_custom_plan"),
            Statement(statement, parameters(good.map { ($0, reports[$0]) }, now: now)),
            Statement("SET LOCAL plan_cache_mode = auto"),
        ])[1]
        var found: [Found] = []
        for row in rows {
            let n = Int(try row.int32("n"))
            findings[n].objection = try objection(row, reports[n])
            found.append(try Self.found(row, n, reports[n], now: now))
        }
        let left = found.flatMap(\.left)
        if !left.isEmpty {
            // Lock people before the rows that the planner changes, in one order everywhere.
            let people = left.map(\.person) + found.flatMap(\.intents).map(\.personID)
            try await transaction.pipeline([
                People.lock(people), Cooldowns.left(left, now: now),
            ])
        }
        let answers = try await planner.notify(found.flatMap(\.intents), now: now, in: transaction)
        var rest = answers[...]
        for each in found {
            let own = rest.prefix(each.intents.count)
            rest = rest.dropFirst(own.count)
            findings[each.finding].notices = own.filter(\.isKept).compactMap(\.noticeID)
            if findings[each.finding].notices.isEmpty, let why = own.compactMap(\.objection).first {
                findings[each.finding].objection = why
            }
        }
        return findings
    }

    private static func found(
        _ row: Row, _ n: Int, _ report: PositionReport, now: Date
    ) throws -> Found {
        var found = Found(finding: n)
        found.left = try (row.optionalTextArray("left_subjects") ?? []).map {
            (report.personID, $0)
        }
        guard let subjects = try row.optionalTextArray("subjects") else { return found }
        let (data, ends) = (try row.textArray("data"), try row.timestampArray("ends"))
        let (time, last) = (Instant(date: now), Instant(date: now.addingTimeInterval(life)))
        for (place, subject) in subjects.enumerated() {
            found.intents.append(
                Intent(
                    NoticeKind.couponNearby.name, to: report.personID, of: subject,
                    data: [UInt8](data[place].utf8),
                    dedupeKey: "\(subject):\(report.personID):\(time.microseconds)",
                    expiresAt: min(ends[place] ?? last, last)))
        }
        return found
    }

    /// Handles a batch: one transaction writes the notices, their jobs and the reports' results.
    static func handle(
        _ batch: JobBatch<PositionReport>, notices catalogue: NoticeCatalogue
    ) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let planner = NoticePlanner(catalogue, context: context)
        do {
            return try await context.database.transaction { transaction in
                let findings = try await look(
                    at: batch.items.map(\.job), now: context.now, notices: planner, in: transaction)
                try await batch.complete(
                    zip(batch.items, findings).filter { $0.1.objection == nil }.map(\.0),
                    in: transaction)
                return findings.map { finding in
                    finding.objection.map { .discard(reason: $0) } ?? .done
                }
            }
        } catch let error as PostgresError where !Task.isCancelled {
            // Discard reports that are too old by now; retry the others.
            return batch.items.map { item in
                PositionRules.objection(to: item.job, now: context.now)
                    .map { .discard(reason: $0) } ?? .retry(after: nil, reason: "\(error)")
            }
        }
    }

    private static func objection(_ row: Row, _ report: PositionReport) throws -> String? {
        guard try row.bool("may_be_notified") else { return "no consent to notices by place" }
        guard let widest = try row.optionalDouble("widest") else { return nil }
        return PositionRules.objection(toAccuracy: report.accuracy, widestRadius: widest)
    }

    /// The parameters of the statement: the numbered reports and the time.
    package static func parameters(
        _ reports: [(n: Int, report: PositionReport)], now: Date
    ) -> [Parameter] {
        [
            .int32Array(reports.map { Int32($0.n) }), .int64Array(reports.map(\.report.personID)),
            .doubleArray(reports.map(\.report.longitude)),
            .doubleArray(reports.map(\.report.latitude)),
            .doubleArray(reports.map(\.report.accuracy)),
            .timestamp(Instant(date: now)),
        ]
    }
}
