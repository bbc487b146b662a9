-- Approving a closed run.

-- The form in which two names of operators are compared; see errand.operator_key().
CREATE OR REPLACE FUNCTION payouts.operator_key(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT errand.operator_key(name) $$;

-- The largest deviation of a run's totals from its last preview, over all currencies, in percent;
-- null without a preview.
CREATE OR REPLACE FUNCTION payouts.deviation(run bigint) RETURNS numeric LANGUAGE sql STABLE AS $$
    WITH previewed AS (
        SELECT p.currency, p.amount FROM payouts.previews p
        WHERE p.run_id = $1
          AND p.at = (SELECT max(l.at) FROM payouts.previews l
            WHERE l.run_id = $1 AND l.currency = p.currency)
    ), closed AS (
        SELECT c.currency, sum(c.amount) AS amount FROM payouts.chunks c
        WHERE c.run_id = $1 GROUP BY 1
    )
    SELECT round(max(CASE
        WHEN c.amount IS NOT DISTINCT FROM p.amount THEN 0
        WHEN p.amount IS NULL THEN NULL
        WHEN p.amount = 0 THEN 100
        ELSE abs(coalesce(c.amount, 0) - p.amount) * 100 / p.amount END), 2)
    FROM previewed p FULL JOIN closed c USING (currency)
    HAVING bool_and(p.currency IS NOT NULL)
$$;

-- Approves a closed run for issue.
--
-- Who closed and who approves must be two persons, by their names and by their logins. Operators
-- choose their names; a login needs its password. Only the owner, and logins that are members of
-- it, may call this.
CREATE OR REPLACE FUNCTION payouts.approve(
    run bigint, actor text, reason text, acknowledged boolean DEFAULT false
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    rules payouts.rules;
    deviation numeric;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    SELECT * INTO rules FROM payouts.rules;
    IF of.state <> 'closed' THEN
        RAISE EXCEPTION 'run % is %: only closed runs can be approved', of.quarter,
            CASE WHEN of.state = 'preview' AND of.closing_at IS NOT NULL THEN 'being closed'
                ELSE of.state::text END
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    PERFORM errand.expect(payouts.operator_key(actor) <> '', 'actor: expected a name');
    IF NOT rules.allows_same THEN
        IF payouts.operator_key(of.closed_by)
            IS NOT DISTINCT FROM payouts.operator_key(actor) THEN
            RAISE EXCEPTION 'run % was closed by %: another person must approve it', of.quarter,
                of.closed_by USING ERRCODE = 'check_violation',
                HINT = 'errand payout rules --allow-same on allows one person to do both.';
        END IF;
        -- An unknown login may be this one.
        IF (of.closed_by_login <> session_user OR rules.allows_shared_login) IS NOT TRUE THEN
            RAISE EXCEPTION 'run % was closed by %: another login must approve it', of.quarter,
                coalesce('the login ' || of.closed_by_login, 'an unknown login')
                USING ERRCODE = 'check_violation', HINT = 'Log in to PostgreSQL as somebody else, '
                    'or errand payout rules --allow-shared-login on allows two persons to share '
                    'a login.';
        END IF;
    END IF;
    deviation := payouts.deviation(run);
    IF NOT acknowledged AND (deviation <= rules.deviation_limit) IS NOT TRUE THEN
        RAISE EXCEPTION 'run % %', of.quarter, CASE WHEN deviation IS NULL
                THEN 'was not previewed in all its currencies'
            ELSE format('differs from its preview by %s %%, more than %s %%', deviation,
                rules.deviation_limit) END
            USING ERRCODE = 'check_violation',
                HINT = 'Review the run, then approve it with --acknowledge.';
    END IF;
    UPDATE payouts.runs r SET state = 'approved', approved_at = clock_timestamp(),
        approved_by = actor, approved_by_login = session_user WHERE r.id = run;
    PERFORM payouts.note(run, 'approve', actor, reason, NULL, NULL, NULL, NULL, NULL);
END $$;
