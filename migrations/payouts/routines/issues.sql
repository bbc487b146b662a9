-- How the payouts of a run get into files and onto cheques, and come back. The files of a run are
-- made at once; payouts that come later are issued by another issue.

-- The issue of a run that is not finished, or a new one.
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
        RAISE EXCEPTION 'run % is %: only one that is approved is issued', of.quarter,
            CASE WHEN of.state = 'preview' AND of.closing_at IS NOT NULL THEN 'being closed'
                ELSE of.state::text END
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF of.state <> 'approved' AND NOT EXISTS (
        SELECT FROM payouts.payouts p WHERE p.run_id = run AND p.state = 'pending') THEN
        RAISE EXCEPTION 'run % has no payout that is still to be issued', of.quarter
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    INSERT INTO payouts.issues AS i (run_id, issued_on, pay_date, number, actor)
    VALUES (run, issued_on, pay_date, 1 + coalesce((
        SELECT max(o.number) FROM payouts.issues o WHERE o.run_id = run), 0), actor)
    RETURNING i.id INTO made;
    RETURN made;
END $$;

-- What a person has earned before a cut-off, in the quarter that it ends: by the kind of what
-- earned it, [kind, how many, minor units] each.
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

-- Takes the next number of a series for a file, or the next ones for so many cheques; returns the
-- one before them.
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
        RAISE EXCEPTION 'the cheques of series % have no numbers left below 10^9', series
            USING ERRCODE = 'check_violation', HINT = 'Give the profile another series.';
    END IF;
    RETURN behind;
END $$;

-- Marks payouts as issued by a file and writes its items; returns how many payouts and items there
-- were, which are fewer where something has changed since it was read, and their sum.
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

-- Gives a page of pending payouts of one method and currency to their file, which is made with
-- the first of them: from here on its content stands.
--
-- What was read before is compared: when the payout, the payee or the bank details have changed
-- since, nothing of it is done, with the SQLSTATE of a conflict of transactions.
--   series         of the file's number, or of the cheques'
--   first_number   the series begins there, or goes on from there
--   ids            ascending
--   payees_at, details_at   when each payee, and the details of each deposit, were given
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
        RAISE EXCEPTION 'issue % is complete: its files stand', issue
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT * INTO file FROM payouts.files f
    WHERE f.issue_id = issue AND f.method = method AND f.currency = currency;
    IF FOUND AND file.series <> series THEN
        RAISE EXCEPTION 'the issue was begun with series %, and the settings say %: issue it '
            'with those of then', file.series, series
            USING ERRCODE = 'object_not_in_prerequisite_state';
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
    -- As many digits as their formats have for the sum.
    IF file.amount > (CASE method WHEN 'aft' THEN 99999999999999 WHEN 'nacha' THEN 999999999999
        END) THEN
        RAISE EXCEPTION 'the % file in % would hold more than its format can say', method, currency
            USING ERRCODE = 'check_violation', HINT = 'Hold some of the payouts that are '
            'pending, issue the run, release them, and issue it once more.';
    END IF;
    INSERT INTO payouts.changes (run_id, payouts, amount, action, currency, actor, reason)
    VALUES (of.run_id, size, total, 'issue', currency, actor,
        'by ' || method || ', issue ' || of.number);
END $$;

-- Ends an issue whose files and manifest are written; false when that was done before.
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
        RAISE EXCEPTION 'issue % is not complete: it has payouts without a file', issue
            USING ERRCODE = 'object_not_in_prerequisite_state';
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

-- A payout came back. Says what became of it: known (that was noted before), returned, or cheque:
-- it is paid anew by a cheque, because there is nothing else to be done.
--   is_refused     nothing more is to be sent to these bank details
--   note           of the operator, for the record
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
        -- Less is owed by now, or there is no address: somebody has to look at it.
        RETURN 'returned';
    END;
END $$;
