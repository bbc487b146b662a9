-- What establishments owe, by the ledger: their statements.

-- The amount that an establishment owes at an instant, from transactions before it.
CREATE OR REPLACE FUNCTION reports.owed_at(account bigint, instant timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN -ledger.balance_at(account, instant);
END $$;

-- What an establishment owes for 30 days at an instant, in the currency of the account: the sum
-- owed 30 days before, less what was credited since, the oldest debts first. A payment that was
-- corrected since credited nothing: what it had paid is as old as it was.
CREATE OR REPLACE FUNCTION reports.overdue_at(account bigint, instant timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    since CONSTANT timestamptz := instant - interval '30 days';
BEGIN
    RETURN greatest(0, reports.owed_at(account, since)
        - coalesce((SELECT sum(p.amount) FROM ledger.postings p
            WHERE p.account_id = account AND p.amount > 0 AND p.at >= since AND p.at < instant), 0)
        + coalesce((SELECT sum(k.amount) FROM ledger.accounts a
            JOIN reports.payments k ON k.establishment_id = a.owner AND k.currency = a.currency
            WHERE a.id = account AND k.corrected_at >= since AND k.corrected_at < instant), 0));
END $$;

-- Whether a statement of a later month was made: it has what an earlier one would have.
CREATE OR REPLACE FUNCTION reports.is_stated(establishment bigint, first_day date)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM reports.reports k
        WHERE k.establishment_id = establishment AND k.kind = 'statement'
          AND k.first_day > first_day AND k.revision > 0);
END $$;

CREATE OR REPLACE FUNCTION reports.refuse_stated(period text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.refuse('stated', format('the statement of a month after %s was made', period),
        'It has all postings until its end: see errand establishment account.');
END $$;

-- The statements that are to be made before a statement, oldest first: each begins where the one
-- before ends.
CREATE OR REPLACE FUNCTION reports.statements_before(report bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT k.id FROM reports.reports r
    JOIN reports.reports k ON k.establishment_id = r.establishment_id AND k.kind = r.kind
        AND k.first_day < r.first_day AND k.revision = 0
    WHERE r.id = report AND r.kind = 'statement'
      AND NOT reports.is_stated(k.establishment_id, k.first_day)
    ORDER BY k.first_day;
END $$;

-- What the ledger has posted to an establishment's accounts since the statement before, whatever
-- time it has, as long as that is before the end of this one: each posting is on one statement.
CREATE OR REPLACE FUNCTION reports.stated_postings(r reports.reports, before reports.reports)
RETURNS TABLE (currency text, amount bigint, id bigint, kind text, source text, line text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    start CONSTANT timestamptz := coalesce(before.until_at, r.from_at);
BEGIN
    RETURN QUERY
    SELECT a.currency, -p.amount, t.id, t.kind, t.source,
        CASE WHEN t.kind = 'reward' AND t.source ~ '^survey:[0-9]{1,18}(:[0-9a-f-]{1,36})?$'
                THEN 'surveys'
            WHEN t.kind = 'reward' AND t.source ~ '^mission:[0-9]{1,18}:' THEN 'missions'
            WHEN t.kind = 'reversal' THEN 'reversals'
            WHEN t.kind = 'establishment_payment' THEN 'payments'
            ELSE 'other' END
    FROM ledger.accounts a JOIN ledger.postings p ON p.account_id = a.id
    JOIN ledger.transactions t ON t.id = p.transaction_id
    WHERE a.owner = r.establishment_id AND a.kind = 'establishment' AND p.at < r.until_at
      AND (p.at >= start OR p.transaction_id > before.known_id);
END $$;

-- The lines of an establishment's statement, as they were first made. The amounts between opening
-- and closing are all postings of its accounts since the statement before, so that opening and
-- lines sum to closing, to the cent, and the next one opens where this one closes. What was posted
-- while the one before was made, with a time before its end, is on the line earlier.
CREATE OR REPLACE FUNCTION reports.statement_lines(report bigint) RETURNS SETOF reports.line
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    r reports.reports;
    before reports.reports;
BEGIN
    SELECT * INTO STRICT r FROM reports.reports k WHERE k.id = report;
    IF r.lines IS NOT NULL THEN
        RETURN QUERY SELECT * FROM jsonb_populate_recordset(NULL::reports.line, r.lines);
        RETURN;
    END IF;
    SELECT * INTO before FROM reports.reports k
    WHERE k.establishment_id = r.establishment_id AND k.kind = 'statement' AND k.revision > 0
      AND k.first_day < r.first_day
    ORDER BY k.first_day DESC LIMIT 1;
    RETURN QUERY
    WITH accounts AS (
        SELECT a.currency, reports.owed_at(a.id, r.until_at) AS closing,
            reports.overdue_at(a.id, r.until_at) AS overdue,
            CASE WHEN before.id IS NULL THEN reports.owed_at(a.id, r.from_at)
                ELSE coalesce((SELECT l.amount
                    FROM jsonb_populate_recordset(NULL::reports.line, before.lines) AS l
                    WHERE l.line = 'closing' AND l.currency = a.currency), 0) END AS opening
        FROM ledger.accounts a
        WHERE a.owner = r.establishment_id AND a.kind = 'establishment'
    ), posted AS (
        SELECT p.currency, p.line,
            -- What follows the survey or mission names one person's completion.
            CASE WHEN p.line <> 'payments' AND p.source ~ '^(survey|mission):[0-9]{1,18}(:|$)'
                THEN split_part(p.source, ':', 1) || ':' || split_part(p.source, ':', 2)
                ELSE coalesce(p.source, p.kind) END AS source,
            count(*) AS count, p.amount AS each, sum(p.amount)::bigint AS amount
        FROM reports.stated_postings(r, before) AS p
        GROUP BY 1, 2, 3, 5, CASE WHEN p.line IN ('payments', 'reversals') THEN p.id END
    ), lines AS (
        SELECT p.currency, p.line, p.source, p.count, p.each, p.amount FROM posted p
        UNION ALL SELECT a.currency, l.line, NULL, NULL, NULL, l.amount
        FROM accounts a CROSS JOIN LATERAL (VALUES ('opening', a.opening),
            ('earlier', (a.closing - a.opening - coalesce((SELECT sum(p.amount) FROM posted p
                WHERE p.currency = a.currency), 0))::bigint),
            ('closing', a.closing), ('overdue', a.overdue)) AS l (line, amount)
        WHERE l.line <> 'earlier' OR l.amount <> 0
    )
    SELECT l.currency, l.line, l.source, reports.title_of(l.line, l.source), l.count, l.each,
        l.amount
    FROM lines l
    ORDER BY l.currency, array_position(
        '{opening,surveys,missions,reversals,other,earlier,payments,closing,overdue}', l.line),
        length(l.source), l.source, l.each, l.amount;
END $$;

-- The title of the survey or mission of a line, as it is now.
CREATE OR REPLACE FUNCTION reports.title_of(line text, source text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE line
        WHEN 'surveys' THEN (SELECT v.title FROM surveys.surveys s
            JOIN surveys.versions v ON v.survey_id = s.id AND v.version = s.version
            WHERE s.id = split_part(source, ':', 2)::bigint)
        WHEN 'missions' THEN (SELECT m.title FROM missions.missions m
            WHERE m.id = split_part(source, ':', 2)::bigint) END;
END $$;
