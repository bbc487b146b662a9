-- The rules of chores, checked as they are given: RRULE of RFC 5545 by days. Jobs follow the rules,
-- in Swift (RecurrenceRule); what they would call a fault is refused here, with the same words.

-- Why a number is not valid; null if it is.
CREATE OR REPLACE FUNCTION household.rule_number_fault(
    part text, found text, highest int, both_ways boolean DEFAULT false
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN found ~ '^[+-]?[0-9]{1,100}$' THEN
            CASE WHEN CASE WHEN both_ways THEN abs(found::numeric) ELSE found::numeric END
                BETWEEN 1 AND highest THEN NULL ELSE wrong.text END
        ELSE wrong.text END
    FROM (SELECT format('%s=%s: expected 1 to %s', part, left(found, 60), highest)
        || CASE WHEN both_ways THEN format(', or from the end -1 to -%s', highest) ELSE '' END)
        AS wrong (text)
$$;

-- Why a list of numbers is not valid.
CREATE OR REPLACE FUNCTION household.rule_list_fault(
    part text, found text, highest int, both_ways boolean DEFAULT false
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT household.rule_number_fault(part, u.word, highest, both_ways)
    FROM unnest(string_to_array(found, ',')) WITH ORDINALITY AS u (word, place)
    WHERE household.rule_number_fault(part, u.word, highest, both_ways) IS NOT NULL
    ORDER BY u.place LIMIT 1
$$;

-- Why a day of the week, such as TU, or with is_nth -1FR, is not valid.
CREATE OR REPLACE FUNCTION household.rule_weekday_fault(part text, found text, is_nth boolean)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN CASE WHEN is_nth THEN right(found, 2) ELSE found END
            <> ALL ('{MO,TU,WE,TH,FR,SA,SU}') THEN
            format('%s=%s: expected days of the week: MO, TU, WE, TH, FR, SA, SU; of a month or '
                'year also such as 2TU or -1FR', part,
                left(CASE WHEN is_nth THEN right(found, 2) ELSE found END, 60))
        WHEN is_nth AND length(found) > 2 THEN
            household.rule_number_fault(part, left(found, -2), 53, true) END
$$;

-- Why UNTIL is not a day such as 20261231.
CREATE OR REPLACE FUNCTION household.rule_until_fault(given text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF given ~ '^[0-9]{8}$' AND left(given, 4) <> '0000' THEN
        PERFORM make_date(left(given, 4)::int, substr(given, 5, 2)::int, right(given, 2)::int);
        RETURN NULL;
    END IF;
    RAISE datetime_field_overflow;
EXCEPTION WHEN datetime_field_overflow THEN
    RETURN format('UNTIL=%s: expected the last day without a time, such as 20261231',
        left(given, 60));
END $$;

-- Why a part of a rule is not valid by itself; null if it is.
CREATE OR REPLACE FUNCTION household.rule_part_fault(part text, found text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE part
        WHEN 'FREQ' THEN CASE
            WHEN found IN ('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY') THEN NULL
            WHEN found IN ('SECONDLY', 'MINUTELY', 'HOURLY') THEN
                format('FREQ=%s is not supported: use FREQ=DAILY or a longer period', found)
            ELSE format('FREQ=%s: expected DAILY, WEEKLY, MONTHLY or YEARLY', left(found, 60)) END
        WHEN 'INTERVAL' THEN household.rule_number_fault(part, found, 1000)
        WHEN 'COUNT' THEN household.rule_number_fault(part, found, 10000)
        WHEN 'UNTIL' THEN household.rule_until_fault(found)
        WHEN 'WKST' THEN household.rule_weekday_fault(part, found, false)
        WHEN 'BYMONTH' THEN household.rule_list_fault(part, found, 12)
        WHEN 'BYMONTHDAY' THEN household.rule_list_fault(part, found, 31, true)
        WHEN 'BYYEARDAY' THEN household.rule_list_fault(part, found, 366, true)
        WHEN 'BYSETPOS' THEN household.rule_list_fault(part, found, 366, true)
        WHEN 'BYDAY' THEN (
            SELECT household.rule_weekday_fault(part, u.word, true)
            FROM unnest(string_to_array(found, ',')) WITH ORDINALITY AS u (word, place)
            WHERE household.rule_weekday_fault(part, u.word, true) IS NOT NULL
            ORDER BY u.place LIMIT 1)
        WHEN 'BYWEEKNO' THEN 'BYWEEKNO is not supported: use BYMONTH, BYDAY or BYYEARDAY'
        ELSE CASE
            WHEN part IN ('BYHOUR', 'BYMINUTE', 'BYSECOND') THEN part
                || ' is not supported: rules are by days; set the time of day separately'
            WHEN part IN ('RSCALE', 'SKIP') THEN part || ' is not supported: for the 31st or the '
                'last day of a shorter month, use BYMONTHDAY=28,29,30,31;BYSETPOS=-1'
            ELSE left(part, 60) || ': expected FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, '
                'BYMONTHDAY, BYYEARDAY, BYDAY or BYSETPOS' END END
$$;

-- Which parts of a rule exclude each other, or need another one (RFC 5545, section 3.3.10).
CREATE OR REPLACE FUNCTION household.rule_conflict(parts jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN NOT parts ? 'FREQ' THEN
            'FREQ is missing: add FREQ=DAILY, WEEKLY, MONTHLY or YEARLY'
        WHEN parts ?& '{COUNT,UNTIL}' THEN
            'COUNT and UNTIL exclude each other: remove one of them'
        WHEN r.freq IN ('DAILY', 'WEEKLY') AND r.ordinals <> '{}' THEN
            'BYDAY: an nth day needs FREQ=MONTHLY or FREQ=YEARLY'
        WHEN r.freq = 'MONTHLY' AND r.far IS NOT NULL THEN
            format('BYDAY=%s: a month has at most five of each weekday', r.far)
        WHEN r.freq = 'WEEKLY' AND parts ? 'BYMONTHDAY' THEN
            'BYMONTHDAY does not go with FREQ=WEEKLY: use FREQ=DAILY or MONTHLY'
        WHEN r.freq <> 'YEARLY' AND parts ? 'BYYEARDAY' THEN 'BYYEARDAY needs FREQ=YEARLY'
        WHEN parts ? 'BYSETPOS' AND NOT parts ?| '{BYDAY,BYMONTHDAY,BYYEARDAY,BYMONTH}' THEN
            'BYSETPOS needs another part such as BYDAY, from which it selects days' END
    FROM (SELECT parts ->> 'FREQ' AS freq, o.ordinals, o.far FROM (
        SELECT coalesce(array_agg(u.word), '{}') AS ordinals,
            (array_agg(left(u.word, -2)::int || right(u.word, 2) ORDER BY u.place)
                FILTER (WHERE abs(left(u.word, -2)::int) > 5))[1] AS far
        FROM unnest(string_to_array(parts ->> 'BYDAY', ',')) WITH ORDINALITY AS u (word, place)
        WHERE length(u.word) > 2) o) r
$$;

-- Why a chore cannot follow this rule from a day on; null if it can.
CREATE OR REPLACE FUNCTION household.rule_fault(rule text, starts_on date) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    part text;
    sides text[];
    parts jsonb := '{}';
    fault text;
BEGIN
    FOREACH part IN ARRAY string_to_array(rule, ';') LOOP
        sides := string_to_array(part, '=');
        IF cardinality(sides) <> 2 OR sides[2] = '' OR parts ? sides[1] THEN
            RETURN format('`%s`: expected each part once, as NAME=VALUE, with `;` between parts, '
                'such as FREQ=WEEKLY;INTERVAL=2;BYDAY=TU', left(part, 60));
        END IF;
        fault := household.rule_part_fault(sides[1], sides[2]);
        IF fault IS NOT NULL THEN
            RETURN fault;
        END IF;
        parts := parts || jsonb_build_object(sides[1], sides[2]);
    END LOOP;
    fault := household.rule_conflict(parts);
    IF fault IS NULL AND household.is_empty_rule(parts, starts_on) THEN
        RETURN 'no day in 100 years matches the rule: use days that exist, such as BYMONTHDAY=-1 '
            'for the last day of each month';
    END IF;
    RETURN fault;
END $$;

-- The days that the frequency and interval of a rule allow, from the period of its start to a year,
-- each with its period, and whether the other parts allow it as well.
CREATE OR REPLACE FUNCTION household.rule_days(parts jsonb, starts_on date, last_year int)
RETURNS TABLE (day date, period int, is_allowed boolean) LANGUAGE sql IMMUTABLE AS $$
    WITH given AS MATERIALIZED (
        SELECT parts ->> 'FREQ' AS freq, coalesce((parts ->> 'INTERVAL')::int, 1) AS step,
            array_position(n.names, coalesce(parts ->> 'WKST', 'MO')) AS week_start,
            string_to_array(parts ->> 'BYMONTH', ',')::int[] AS months,
            string_to_array(parts ->> 'BYMONTHDAY', ',')::int[] AS month_days,
            string_to_array(parts ->> 'BYYEARDAY', ',')::int[] AS year_days,
            -- Each, such as 2, or the nth, such as 2:-1.
            (SELECT array_agg(array_position(n.names, right(w, 2))
                || coalesce(':' || nullif(left(w, -2), '')::int, ''))
                FROM unnest(string_to_array(parts ->> 'BYDAY', ',')) w) AS days,
            parts ?| '{BYDAY,BYMONTHDAY,BYYEARDAY}' AS has_days
        FROM (SELECT '{MO,TU,WE,TH,FR,SA,SU}'::text[] AS names) n
    ), rule AS MATERIALIZED (
        SELECT g.freq, g.step, g.week_start, g.year_days,
            CASE WHEN g.freq = 'YEARLY' AND NOT g.has_days AND g.months IS NULL
                THEN ARRAY[extract(month FROM starts_on)::int] ELSE g.months END AS months,
            CASE WHEN g.freq IN ('MONTHLY', 'YEARLY') AND NOT g.has_days
                THEN ARRAY[extract(day FROM starts_on)::int] ELSE g.month_days END AS month_days,
            CASE WHEN g.freq = 'WEEKLY' AND g.days IS NULL
                THEN ARRAY[extract(isodow FROM starts_on)::text] ELSE g.days END AS days,
            starts_on - (extract(isodow FROM starts_on)::int - g.week_start + 7) % 7 AS week
        FROM given g
    ), dates AS (
        SELECT d.day, r, d.day - (extract(isodow FROM d.day)::int - r.week_start + 7) % 7 AS week,
            extract(year FROM d.day)::int AS year, extract(month FROM d.day)::int AS month,
            extract(day FROM d.day)::int AS dom, extract(doy FROM d.day)::int AS doy,
            extract(isodow FROM d.day)::int AS dow,
            extract(day FROM date_trunc('month', d.day::timestamp) + interval '1 month'
                - interval '1 day')::int AS month_length,
            extract(doy FROM make_date(extract(year FROM d.day)::int, 12, 31))::int AS year_length
        FROM rule r CROSS JOIN LATERAL (
            SELECT b.first + n AS day FROM (SELECT CASE r.freq WHEN 'DAILY' THEN starts_on
                WHEN 'WEEKLY' THEN r.week ELSE date_trunc(
                    left(lower(r.freq), -2), starts_on::timestamp)::date END AS first) b,
            generate_series(0, make_date(last_year, 12, 31) - b.first,
                CASE r.freq WHEN 'DAILY' THEN r.step ELSE 1 END) n) d
    )
    SELECT d.day, CASE (d.r).freq WHEN 'DAILY' THEN d.day - date '1970-01-01'
            WHEN 'WEEKLY' THEN d.week - date '1970-01-01'
            WHEN 'MONTHLY' THEN d.year * 12 + d.month ELSE d.year END,
        a.in_month AND a.on_month_day AND a.on_year_day AND a.on_weekday
    FROM dates d CROSS JOIN LATERAL (SELECT
        ((d.r).months IS NULL OR d.month = ANY ((d.r).months)) AS in_month,
        ((d.r).month_days IS NULL OR d.dom = ANY ((d.r).month_days)
            OR d.dom - d.month_length - 1 = ANY ((d.r).month_days)) AS on_month_day,
        ((d.r).year_days IS NULL OR d.doy = ANY ((d.r).year_days)
            OR d.doy - d.year_length - 1 = ANY ((d.r).year_days)) AS on_year_day,
        ((d.r).days IS NULL OR d.dow::text = ANY ((d.r).days) OR ARRAY[
            d.dow || ':' || (p.place - 1) / 7 + 1, d.dow || ':-' || (p.length - p.place) / 7 + 1]
            && (d.r).days) AS on_weekday
        -- An nth day is of the year only in a rule by years without months.
        FROM (SELECT o.is_of_year, CASE WHEN o.is_of_year THEN d.doy ELSE d.dom END AS place,
                CASE WHEN o.is_of_year THEN d.year_length ELSE d.month_length END AS length
            FROM (SELECT (d.r).freq = 'YEARLY' AND (d.r).months IS NULL AS is_of_year) o) p) a
    WHERE CASE (d.r).freq WHEN 'DAILY' THEN true
        WHEN 'WEEKLY' THEN (d.week - (d.r).week) / 7 % (d.r).step = 0
        WHEN 'MONTHLY' THEN ((d.year * 12 + d.month) - extract(year FROM starts_on)::int * 12
                - extract(month FROM starts_on)::int) % (d.r).step = 0
            AND CASE WHEN (d.r).month_days IS NULL THEN a.on_weekday ELSE a.on_month_day END
        ELSE (d.year - extract(year FROM starts_on)::int) % (d.r).step = 0
            AND CASE WHEN (d.r).year_days IS NOT NULL THEN a.on_year_day
                WHEN (d.r).month_days IS NOT NULL THEN a.in_month AND a.on_month_day
                ELSE a.in_month AND a.on_weekday END END
$$;

-- Whether a rule names no day in the hundred years behind its start, and does not end before that.
CREATE OR REPLACE FUNCTION household.is_empty_rule(parts jsonb, starts_on date) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    begins CONSTANT int := extract(year FROM starts_on);
    ends CONSTANT date := to_date(parts ->> 'UNTIL', 'YYYYMMDD');
    positions CONSTANT int[] := string_to_array(parts ->> 'BYSETPOS', ',')::int[];
    has_days boolean;
    last_year int;
BEGIN
    -- Nearly all rules name a day soon. libical counts no further than to the year 2582.
    FOREACH last_year IN ARRAY ARRAY[begins + 1, least(begins + 100, 2582)] LOOP
        WITH days AS MATERIALIZED (
            SELECT * FROM household.rule_days(parts, starts_on, last_year)
        ), reached AS (
            SELECT d.day, row_number() OVER w AS place, count(*) OVER w AS of
            FROM days d WHERE d.is_allowed AND (ends IS NULL OR d.day < ALL (
                SELECT s.day FROM days s WHERE NOT s.is_allowed
                  AND extract(year FROM s.day) > extract(year FROM ends) + 1
                ORDER BY s.day LIMIT 1))
            WINDOW w AS (PARTITION BY d.period ORDER BY d.day
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        )
        SELECT EXISTS (SELECT FROM reached r WHERE r.day >= starts_on
            AND (positions IS NULL OR r.place = ANY (positions)
                OR r.place - r.of - 1 = ANY (positions)))
            -- Its end was reached.
            OR positions IS NULL AND EXISTS (SELECT FROM days d WHERE d.day > ends)
        INTO has_days;
        EXIT WHEN has_days;
    END LOOP;
    RETURN NOT has_days;
END $$;
