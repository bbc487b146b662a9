-- Issuing the payouts of a run as files and cheques, and recording returns. The files of an issue
-- are created together; later payouts need another issue.

-- Whether the session that claimed the issue of a run lives.
CREATE OR REPLACE FUNCTION payouts.is_issuing(claim payouts.issuers) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(errand.session_lives(claim.backend, claim.backend_started), true)
$$;

-- Claims the issue of a run for this session, until release_issue() or the end of the session.
-- Raises an error that names who issues it.
CREATE OR REPLACE FUNCTION payouts.claim_issue(run bigint, actor text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held payouts.issuers;
BEGIN
    INSERT INTO payouts.issuers AS c (run_id, backend_started, backend, actor)
    SELECT r.id, a.backend_start, a.pid, actor
    FROM payouts.runs r, pg_stat_activity a WHERE r.id = run AND a.pid = pg_backend_pid()
    ON CONFLICT ON CONSTRAINT issuers_pkey DO UPDATE
    SET claimed_at = excluded.claimed_at, backend_started = excluded.backend_started,
        backend = excluded.backend, login = excluded.login, actor = excluded.actor
    -- A claim of this session is left from a call that was interrupted.
    WHERE c.backend = excluded.backend OR NOT payouts.is_issuing(c);
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO held FROM payouts.issuers c WHERE c.run_id = run;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    RAISE EXCEPTION '% has been issuing run % since % (login %, process % of PostgreSQL): wait for '
        'it to end, then check the run', held.actor,
        (SELECT r.quarter FROM payouts.runs r WHERE r.id = run),
        to_char(held.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), held.login,
        held.backend USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
END $$;

-- Ends the claim of this session; does nothing if it has none.
CREATE OR REPLACE FUNCTION payouts.release_issue(run bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    DELETE FROM payouts.issuers c WHERE c.run_id = run AND c.backend = pg_backend_pid();
END $$;

-- Returns the unfinished issue of a run, or a new one.
CREATE OR REPLACE FUNCTION payouts.begin_issue(
    run bigint, issued_on date, pay_date date, actor text)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.runs;
    made bigint;
BEGIN
    SELECT * INTO of FROM payouts.runs r WHERE r.id = run FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no run %', run USING ERRCODE = 'no_data_found';
    END IF;
    SELECT i.id INTO made FROM payouts.issues i
    WHERE i.run_id = run AND i.published_at IS NULL;
    IF FOUND THEN
        RETURN made;
    END IF;
    IF of.state NOT IN ('approved', 'issued', 'settled') THEN
        RAISE EXCEPTION 'run % is %: only approved runs can be issued', of.quarter,
            CASE WHEN of.state = 'preview' AND of.closing_at IS NOT NULL THEN 'being closed'
                ELSE of.state::text END
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    IF of.state <> 'approved' AND NOT EXISTS (
        SELECT FROM payouts.payouts p WHERE p.run_id = run AND p.state = 'pending') THEN
        RAISE EXCEPTION 'run % has no pending payouts to issue', of.quarter
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    INSERT INTO payouts.issues AS i (run_id, issued_on, pay_date, number, actor)
    VALUES (run, issued_on, pay_date, 1 + coalesce((
        SELECT max(o.number) FROM payouts.issues o WHERE o.run_id = run), 0), actor)
    RETURNING i.id INTO made;
    RETURN made;
END $$;

-- A person's rewards of the quarter that ends at a cut-off, by kind of source: an array of
-- [kind, count, minor units].
CREATE OR REPLACE FUNCTION payouts.earned(account bigint, cut_off timestamptz, time_zone text)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    since CONSTANT timestamptz :=
        (cut_off AT TIME ZONE time_zone - interval '3 months') AT TIME ZONE time_zone;
BEGIN
    RETURN (
        SELECT jsonb_agg(jsonb_build_array(k.kind, k.count, k.amount) ORDER BY k.kind) FROM (
            SELECT coalesce(split_part(t.source, ':', 1), '') AS kind, count(*) AS count,
                sum(l.amount)::bigint AS amount
            FROM ledger.postings l JOIN ledger.transactions t ON t.id = l.transaction_id
            WHERE l.account_id = account AND l.at >= since AND l.at < cut_off
              AND t.kind IN ('reward', 'reversal') AND t.source NOT LIKE 'payout:%'
            GROUP BY 1 HAVING sum(l.amount) <> 0 ORDER BY 1 LIMIT 10
        ) k);
END $$;

-- Takes the next number of a series for a file, or the next `size` numbers for cheques; returns the
-- number before them.
CREATE OR REPLACE FUNCTION payouts.take_numbers(
    method payouts.method, series text, first_number bigint, size int
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    behind bigint;
BEGIN
    INSERT INTO payouts.series AS s (name, last) VALUES (series, first_number - 1)
    ON CONFLICT ON CONSTRAINT series_pkey DO NOTHING;
    UPDATE payouts.series s
    SET last = greatest(s.last, first_number - 1)
        + CASE method WHEN 'cheque' THEN size ELSE 1 END
    WHERE s.name = series
    RETURNING s.last - CASE method WHEN 'cheque' THEN size ELSE 1 END INTO behind;
    IF method = 'cheque' AND behind + size > 999999999 THEN
        RAISE EXCEPTION 'series % has no cheque numbers left below 10^9', series
            USING ERRCODE = 'check_violation', HINT = 'Set another series in the profile.';
    END IF;
    RETURN behind;
END $$;

-- Marks payouts as issued by a file and writes its items; returns their numbers and the sum. The
-- numbers are lower if rows have changed since they were read.
CREATE OR REPLACE FUNCTION payouts.list_items(
    of payouts.issues, file payouts.files, behind bigint, ids bigint[], payees_at timestamptz[],
    details_at timestamptz[], OUT touched bigint, OUT total bigint, OUT listed bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    run payouts.runs;
    method CONSTANT payouts.method := file.method;
    currency CONSTANT text := file.currency;
BEGIN
    SELECT * INTO run FROM payouts.runs r WHERE r.id = of.run_id;
    WITH done AS (
        UPDATE payouts.payouts p
        SET state = 'issued', file_id = file.id, method = method,
            cheque_number = CASE WHEN method = 'cheque' THEN behind + a.place END
        FROM unnest(ids, payees_at, details_at) WITH ORDINALITY
            AS a (id, payee_at, detail_at, place)
        WHERE p.id = a.id AND p.state = 'pending' AND p.run_id = of.run_id
          AND p.currency = currency AND coalesce(p.method, method) = method
        RETURNING p.id, p.person_id, p.account_id, p.amount, a.payee_at, a.detail_at
    ), made AS (
        INSERT INTO payouts.items (file_id, payout_id, person_id, payee, address, given_at,
            sealed, lines)
        SELECT file.id, d.id, d.person_id, y.name, y.address,
            CASE WHEN method <> 'cheque' THEN b.given_at END,
            CASE WHEN method <> 'cheque' THEN b.sealed END,
            CASE WHEN method = 'cheque'
                THEN payouts.earned(d.account_id, run.cut_off, run.time_zone) END
        FROM done d
        JOIN payouts.payees y ON y.person_id = d.person_id AND y.updated_at = d.payee_at
        LEFT JOIN payouts.bank_details b ON b.person_id = d.person_id
            AND b.given_at = d.detail_at AND b.refused_at IS NULL
        WHERE method = 'cheque' OR b.person_id IS NOT NULL
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM done), (SELECT sum(d.amount) FROM done d),
        (SELECT count(*) FROM made)
    INTO touched, total, listed;
END $$;

-- Assigns a page of pending payouts of one method and currency to their file, which the first page
-- creates, and freezes their data.
--
-- If a payout, payee or bank details have changed since they were read, it raises an error with the
-- SQLSTATE of a serialization failure.
--   series         series of the file number or the cheque numbers
--   first_number   first number of the series
--   ids            ascending
--   payees_at, details_at   version of each payee, and of the bank details of each deposit
CREATE OR REPLACE FUNCTION payouts.freeze(
    issue bigint, method payouts.method, currency text, series text, first_number bigint,
    ids bigint[], payees_at timestamptz[], details_at timestamptz[], actor text
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.issues;
    file payouts.files;
    size CONSTANT int := cardinality(ids);
    touched bigint;
    listed bigint;
    behind bigint;
    total bigint;
BEGIN
    SELECT * INTO of FROM payouts.issues i WHERE i.id = issue FOR NO KEY UPDATE;
    IF of.frozen_at IS NOT NULL THEN
        RAISE EXCEPTION 'issue % is frozen: its files cannot change', issue
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    SELECT * INTO file FROM payouts.files f
    WHERE f.issue_id = issue AND f.method = method AND f.currency = currency;
    IF FOUND AND file.series <> series THEN
        RAISE EXCEPTION 'the issue started with series %, but the settings have %', file.series,
            series USING ERRCODE = 'RU001', DETAIL = 'wrong_state',
            HINT = 'Restore the settings of the start and issue the run again.';
    END IF;
    IF file.id IS NULL OR method = 'cheque' THEN
        behind := payouts.take_numbers(method, series, first_number, size);
    END IF;
    IF file.id IS NULL THEN
        INSERT INTO payouts.files AS f (issue_id, number, method, currency, series)
        VALUES (issue, behind + 1, method, currency, series) RETURNING * INTO file;
    END IF;

    SELECT l.touched, l.total, l.listed INTO touched, total, listed
    FROM payouts.list_items(of, file, behind, ids, payees_at, details_at) l;
    IF touched < size OR listed < size THEN
        RAISE EXCEPTION 'payouts, payees or bank details have changed since they were read'
            USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE payouts.files f SET payouts = f.payouts + size, amount = f.amount + total
    WHERE f.id = file.id RETURNING * INTO file;
    -- The largest sums that the formats can hold.
    IF file.amount > (CASE method WHEN 'aft' THEN 99999999999999 WHEN 'nacha' THEN 999999999999
        END) THEN
        RAISE EXCEPTION 'the sum of the % file in % exceeds the limit of its format', method,
            currency USING ERRCODE = 'check_violation', HINT = 'Hold some of the pending payouts, '
            'issue the run, release them and issue it again.';
    END IF;
    INSERT INTO payouts.changes (run_id, payouts, amount, action, currency, actor, reason)
    VALUES (of.run_id, size, total, 'issue', currency, actor,
        'by ' || method || ', issue ' || of.number);
END $$;

-- Publishes an issue whose files and manifest are written; false if it was already published.
CREATE OR REPLACE FUNCTION payouts.publish(issue bigint, actor text)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.issues;
    count bigint;
BEGIN
    SELECT * INTO of FROM payouts.issues i WHERE i.id = issue FOR NO KEY UPDATE;
    IF of.published_at IS NOT NULL THEN
        RETURN false;
    END IF;
    IF of.frozen_at IS NULL THEN
        RAISE EXCEPTION 'issue % is not frozen: some payouts have no file', issue
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    UPDATE payouts.files f SET published_at = clock_timestamp() WHERE f.issue_id = issue;
    UPDATE payouts.issues i SET published_at = clock_timestamp() WHERE i.id = issue;
    UPDATE payouts.runs r SET state = 'issued', settled_at = NULL,
        issued_at = coalesce(r.issued_at, clock_timestamp())
    WHERE r.id = of.run_id;
    SELECT coalesce(sum(f.payouts), 0)::bigint INTO count FROM payouts.files f
    WHERE f.issue_id = issue;
    PERFORM payouts.note(of.run_id, 'issue', actor, 'issue ' || of.number, NULL, count, NULL,
        NULL, NULL);
    RETURN true;
END $$;

-- Records the return of a payout. Returns known (already recorded), returned, or cheque (reissued
-- by cheque because the bank details are wrong).
--   is_refused     whether to stop deposits to these bank details
--   note           the operator's reason for the history
CREATE OR REPLACE FUNCTION payouts.take_return(
    payout bigint, actor text, reason text, is_refused boolean, note text
) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
BEGIN
    IF NOT payouts.take_back(payout, actor, reason, is_refused, note) THEN
        RETURN 'known';
    END IF;
    SELECT * INTO of FROM payouts.payouts p WHERE p.id = payout;
    IF NOT is_refused OR of.method = 'cheque' THEN
        RETURN 'returned';
    END IF;
    BEGIN
        PERFORM payouts.reissue(payout, 'cheque', actor, reason);
        RETURN 'cheque';
    EXCEPTION WHEN check_violation THEN
        -- The balance is too low or the address is missing: an operator must decide.
        RETURN 'returned';
    END;
END $$;
