-- Weeks and months in the time zone of an establishment, and which reports are due.

-- The first day of a period such as 2026-W47 or 2026-10, and the day behind its last.
CREATE OR REPLACE FUNCTION reports.days_of(
    kind reports.report_kind, period text, OUT first_day date, OUT end_day date
) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF kind = 'weekly' THEN
        PERFORM errand.expect(period ~ '^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$',
            'period: expected a week such as 2026-W47');
        first_day := to_date(replace(period, 'W', ''), 'IYYY-IW');
        -- Most years have 52 weeks.
        PERFORM errand.expect(to_char(first_day, 'IYYY-"W"IW') = period,
            format('period: %s has no week %s', left(period, 4), right(period, 2)));
        end_day := first_day + 7;
    ELSE
        PERFORM errand.expect(period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$',
            'period: expected a month such as 2026-10');
        first_day := to_date(period, 'YYYY-MM');
        end_day := first_day + interval '1 month';
    END IF;
END $$;

-- The period that begins on a day.
CREATE OR REPLACE FUNCTION reports.period_of(kind reports.report_kind, first_day date)
RETURNS text LANGUAGE sql STABLE
RETURN to_char(first_day, CASE kind WHEN 'weekly' THEN 'IYYY-"W"IW' ELSE 'YYYY-MM' END);

-- How many earlier periods the schedule catches up after a downtime.
CREATE OR REPLACE FUNCTION reports.reach(kind reports.report_kind) RETURNS int
LANGUAGE sql IMMUTABLE
RETURN CASE kind WHEN 'weekly' THEN 4 ELSE 2 END;

-- Whether the rules of retention still keep all that a report reads. Once they have begun to remove
-- its period, its figures would be too low, whether rows are left or not. Statements read the
-- ledger, which keeps everything.
CREATE OR REPLACE FUNCTION reports.is_kept(
    establishment bigint, kind reports.report_kind, from_at timestamptz, until_at timestamptz,
    at timestamptz
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN kind = 'statement' OR NOT EXISTS (
        SELECT FROM people.retention_rules q
        WHERE from_at < at - q.keep AND q.name IN ('surveys.answers', 'surveys.invitations',
            'coupons.ended', 'notification.notices')
    ) AND NOT EXISTS (
        -- What shoppers found on a mission that was approved later.
        SELECT FROM people.retention_rules q, missions.missions m
        JOIN missions.assignments a ON a.mission_id = m.id
        WHERE q.name = 'missions.steps' AND least(from_at, a.offered_at) < at - q.keep
          AND m.establishment_id = establishment AND a.state = 'paid'
          AND a.ended_at >= from_at AND a.ended_at < until_at);
END $$;

-- Refuses what people.retention_rules has begun to remove.
CREATE OR REPLACE FUNCTION reports.refuse_not_kept(period text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.refuse('not_kept', format('the retention has begun to remove the answers of %s',
        period), 'No report can be made of it: its figures would be too low. '
        'See: errand retention ls');
END $$;

-- Adds a report that is to be made, and returns its id; also of one that is known.
CREATE OR REPLACE FUNCTION reports.open_report(
    establishment bigint, kind reports.report_kind, period text, at timestamptz
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    days record;
    zone text;
    opened bigint;
BEGIN
    days := reports.days_of(kind, period);
    SELECT r.id INTO opened FROM reports.reports r
    WHERE r.establishment_id = establishment AND r.kind = kind AND r.period = period;
    IF FOUND THEN
        RETURN opened;
    END IF;
    SELECT s.time_zone INTO zone FROM reports.settings s
    WHERE s.establishment_id = establishment;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
        PERFORM errand.refuse('no_settings',
            format('establishment %s has no time zone for reports', establishment),
            'Set it with reports.put_settings first.');
    END IF;
    IF days.end_day::timestamp AT TIME ZONE zone > at THEN
        PERFORM errand.refuse('not_over', format('%s is not over', period),
            'A report is made of a whole week or month.');
    END IF;
    IF NOT reports.is_kept(establishment, kind, days.first_day::timestamp AT TIME ZONE zone,
        days.end_day::timestamp AT TIME ZONE zone, at)
    THEN
        PERFORM reports.refuse_not_kept(period);
    END IF;
    IF kind = 'statement' AND reports.is_stated(establishment, days.first_day) THEN
        PERFORM reports.refuse_stated(period);
    END IF;
    INSERT INTO reports.reports AS r (establishment_id, kind, period, first_day, end_day,
        time_zone, from_at, until_at, due_at)
    VALUES (establishment, kind, period, days.first_day, days.end_day, zone,
        days.first_day::timestamp AT TIME ZONE zone, days.end_day::timestamp AT TIME ZONE zone,
        (days.end_day + time '06:00') AT TIME ZONE zone)
    ON CONFLICT ON CONSTRAINT reports_period DO NOTHING RETURNING r.id INTO opened;
    IF opened IS NULL THEN
        SELECT r.id INTO STRICT opened FROM reports.reports r
        WHERE r.establishment_id = establishment AND r.kind = kind AND r.period = period;
    END IF;
    RETURN opened;
END $$;

-- Adds the reports whose 06:00 has passed, of the last five weeks and three months, and returns the
-- ids of at most max_rows of them, oldest first. Those of the downtime of workers are among them.
-- Returns up to max_rows others too that are due and not made: opened by hand, or added three days
-- ago, after which their job tries no more.
CREATE OR REPLACE FUNCTION reports.open_due(at timestamptz, max_rows int)
RETURNS SETOF bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    WITH ended AS (
        -- Few: per time zone, not per establishment.
        SELECT z.time_zone, k.kind, p.first_day, p.end_day,
            p.first_day::timestamp AT TIME ZONE z.time_zone AS from_at,
            p.end_day::timestamp AT TIME ZONE z.time_zone AS until_at,
            (p.end_day + time '06:00') AT TIME ZONE z.time_zone AS due_at
        FROM (SELECT DISTINCT s.time_zone FROM reports.settings s) AS z
        CROSS JOIN unnest(enum_range(NULL::reports.report_kind)) AS k (kind)
        CROSS JOIN LATERAL (
            SELECT CASE k.kind WHEN 'weekly'
                THEN date_trunc('week', at AT TIME ZONE z.time_zone)::date - 7 * (n + 1)
                ELSE (date_trunc('month', at AT TIME ZONE z.time_zone)
                    - make_interval(months => n + 1))::date END AS first_day,
                CASE k.kind WHEN 'weekly'
                THEN date_trunc('week', at AT TIME ZONE z.time_zone)::date - 7 * n
                ELSE (date_trunc('month', at AT TIME ZONE z.time_zone)
                    - make_interval(months => n))::date END AS end_day
            FROM generate_series(0, reports.reach(k.kind)) AS n
        ) AS p
    )
    INSERT INTO reports.reports AS r (establishment_id, kind, period, first_day, end_day,
        time_zone, from_at, until_at, due_at, queued_at)
    SELECT s.establishment_id, d.kind, reports.period_of(d.kind, d.first_day), d.first_day,
        d.end_day, d.time_zone, d.from_at, d.until_at, d.due_at, at
    FROM ended d
    JOIN reports.settings s ON s.time_zone = d.time_zone
    JOIN establishments.establishments e ON e.id = s.establishment_id
    WHERE d.due_at <= at AND d.until_at > s.since
      -- What people had when it closed runs out within three months.
      AND (e.closed_at IS NULL OR e.closed_at > d.from_at - interval '92 days')
      AND NOT EXISTS (SELECT FROM reports.reports k
        WHERE k.establishment_id = s.establishment_id AND k.kind = d.kind
          AND k.period = reports.period_of(d.kind, d.first_day))
      AND (d.kind <> 'statement' OR NOT reports.is_stated(s.establishment_id, d.first_day))
    ORDER BY d.until_at, s.establishment_id, d.kind LIMIT max_rows
    ON CONFLICT ON CONSTRAINT reports_period DO NOTHING
    RETURNING r.id;
    RETURN QUERY
    UPDATE reports.reports r SET queued_at = at
    WHERE r.id IN (
        -- One that is being made now is locked.
        SELECT k.id FROM reports.reports k
        WHERE k.revision = 0 AND k.due_at <= at
          AND (k.queued_at IS NULL OR k.queued_at < at - interval '3 days')
          AND reports.is_kept(k.establishment_id, k.kind, k.from_at, k.until_at, at)
          AND (k.kind <> 'statement' OR NOT reports.is_stated(k.establishment_id, k.first_day))
        ORDER BY k.due_at, k.id LIMIT max_rows FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING r.id;
END $$;
