package import FoundationEssentials
import Errand
package import ErrandNotification
package import ErrandPostgres

/// Finds, for many reports at once, the coupons that count near by, and tells their holders.
package enum Proximity {
    /// One statement for the whole batch.
    ///
    /// 1. whose place may be looked at: with consent to notices by place;
    /// 2. which live coupons of theirs they have not just been told of, or were told of and not
    ///    seen away from yet;
    /// 3. of each the nearest branch within the offer's radius, where the report is accurate
    ///    enough for that radius; for those not seen away yet, within one and a half times of it.
    ///
    /// Returns a row for each report: whether it may be looked at and the widest radius of the
    /// person's coupons (null for none). Beside the first of a person's reports stand the coupons
    /// near by, nearest branches first, with the last day by the person's calendar; and those that
    /// the person was seen away from.
    package static let statement = """
        WITH report AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, p.time_zone,
                ST_SetSRID(ST_MakePoint(r.longitude, r.latitude), 4326)::geography AS place,
                row_number() OVER (PARTITION BY r.person_id ORDER BY r.n) = 1 AS is_first,
                p.location_consent_at IS NOT NULL AS may_be_told
            FROM unnest($1::int[], $2::bigint[], $3::float8[], $4::float8[], $5::float8[])
                AS r (n, person_id, longitude, latitude, accuracy)
            LEFT JOIN people.people p ON p.id = r.person_id
        ), held AS MATERIALIZED (
            SELECT r.n, r.person_id, r.accuracy, r.place, r.time_zone, 'coupon:' || c.id AS subject,
                c.title, c.establishment_id, c.radius_m, c.expires_at
            FROM report r JOIN coupons.coupons c ON c.person_id = r.person_id
            WHERE r.may_be_told AND c.redeemed_at IS NULL AND c.voided_at IS NULL
              AND c.expired_at IS NULL AND c.valid_from <= $6 AND c.expires_at > $6
        ), told AS MATERIALIZED (
            SELECT c.person_id, c.subject, c.until > $6 AS is_new,
                c.must_leave AND c.left_at IS NULL AS is_there
            FROM report r JOIN notification.cooldowns c ON c.person_id = r.person_id
            WHERE r.is_first AND r.may_be_told
              AND (c.until > $6 OR c.must_leave AND c.left_at IS NULL)
        ), looked AS (
            SELECT h.person_id, h.time_zone, h.subject, h.title, h.radius_m, h.expires_at, b.name,
                b.distance, coalesce(t.is_there, false) AS is_there
            FROM held h LEFT JOIN told t ON t.person_id = h.person_id AND t.subject = h.subject
            LEFT JOIN LATERAL (
                SELECT b.name, ST_Distance(b.place, h.place) AS distance
                FROM establishments.branches b
                WHERE b.establishment_id = h.establishment_id
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
        SELECT r.n, coalesce(r.may_be_told, false) AS may_be_told, w.widest,
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

    /// How long people are told that a coupon counts near by, in seconds.
    private static let life = 3_600.0

    /// What came of one report.
    package struct Finding: Sendable {
        /// Why it was dropped; nil when it was good.
        package var objection: String?
        /// The notices that it made.
        package var notices: [Int64] = []
    }

    /// A report's share of what the statement found.
    private struct Found {
        var finding: Int
        var intents: [Intent] = []
        var left: [(person: Int64, subject: String)] = []
    }

    /// Looks at reports as of `now` and tells people.
    ///
    /// - Returns: a finding for each report, in their order.
    package static func look(
        at reports: [PositionReport], now: Date, telling teller: Teller,
        in transaction: Transaction
    ) async throws -> [Finding] {
        var findings = reports.map { Finding(objection: PositionRules.objection(to: $0, now: now)) }
        let good = findings.indices.filter { findings[$0].objection == nil }
        guard !good.isEmpty else { return findings }
        // A plan for any number of reports expects ten of them, and joins five hundred in loops.
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
            // Locked before the rows that the teller changes: all go by one order.
            let people = left.map(\.person) + found.flatMap(\.intents).map(\.personID)
            try await transaction.pipeline([
                People.lock(people), Cooldowns.left(left, now: now),
            ])
        }
        let answers = try await teller.tell(found.flatMap(\.intents), now: now, in: transaction)
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

    /// Handles a batch: notices, their jobs and the ends of the reports in one transaction.
    static func handle(
        _ batch: JobBatch<PositionReport>, telling catalogue: NoticeCatalogue
    ) async throws -> [Outcome] {
        guard let context = batch.items.first?.context else { return [] }
        let teller = Teller(catalogue, context: context)
        do {
            return try await context.database.transaction { transaction in
                let findings = try await look(
                    at: batch.items.map(\.job), now: context.now, telling: teller, in: transaction)
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
        guard try row.bool("may_be_told") else { return "no consent to notices by place" }
        guard let widest = try row.optionalDouble("widest") else { return nil }
        return PositionRules.objection(toAccuracy: report.accuracy, widestRadius: widest)
    }

    /// Those of the statement: the reports with their numbers, and the time.
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
