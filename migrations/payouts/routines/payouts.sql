-- What becomes of single payouts, and what apps call. What people have earned by the end of a
-- quarter is paid to them, by deposit if they gave bank details, by cheque if not.
--
-- The money of a payout that is pending or issued is in the account payouts_in_transit, of one that
-- is settled it has left the bank, and in every other state it is the person's.

-- Where the money of a payout is.
CREATE OR REPLACE FUNCTION payouts.place_of(state payouts.payout_state) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN $1 IN ('pending', 'issued') THEN 'payouts_in_transit'
        WHEN $1 = 'settled' THEN 'bank' ELSE 'person' END
$$;

-- Brings a payout from one state to another, with its money and the note of it. Every change of a
-- single payout comes through here.
CREATE OR REPLACE FUNCTION payouts.change(
    payout bigint, to_state payouts.payout_state, action text, actor text, reason text
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
    owed bigint;
    source text;
    posted bigint;
    place CONSTANT text := payouts.place_of(to_state);
BEGIN
    -- The balance before the payout: closing a chunk locks them in this order.
    SELECT b.amount INTO owed FROM ledger.balances b
    WHERE b.slice = 0 AND b.account_id = (
        SELECT p.account_id FROM payouts.payouts p WHERE p.id = payout)
    FOR NO KEY UPDATE;
    SELECT * INTO of FROM payouts.payouts p WHERE p.id = payout FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no payout %', payout USING ERRCODE = 'no_data_found';
    END IF;
    source := payouts.place_of(of.state);
    IF source <> place THEN
        IF source = 'person' AND owed < of.amount THEN
            RAISE EXCEPTION 'payout % is of % minor units, and only % are owed by now: the rest '
                'was paid by another run', payout, of.amount, owed
                USING ERRCODE = 'check_violation';
        END IF;
        posted := ledger.post(
            'payout:' || payout || ':' || (
                SELECT count(*) FROM payouts.changes c WHERE c.payout_id = payout),
            CASE place WHEN 'person' THEN 'payout_back' WHEN 'bank' THEN 'payout_settled'
                ELSE 'payout' END,
            ARRAY[
                CASE source WHEN 'person' THEN of.account_id
                    ELSE ledger.account(source, 0, of.currency) END,
                CASE place WHEN 'person' THEN of.account_id
                    ELSE ledger.account(place, 0, of.currency) END],
            ARRAY[-of.amount, of.amount], NULL, 'payout:' || payout, NULL, actor);
    END IF;
    UPDATE payouts.payouts p SET state = to_state, is_kept_back = false, reason = CASE
        WHEN to_state IN ('held', 'returned', 'void') THEN reason
        WHEN to_state = 'reissued' THEN p.reason END
    WHERE p.id = payout;
    PERFORM payouts.note(of.run_id, action, actor, reason, payout, 1, of.amount, of.currency,
        posted);
END $$;

-- Refuses, in words, what a payout's state does not allow.
CREATE OR REPLACE FUNCTION payouts.expect(
    payout bigint, doing text, VARIADIC states payouts.payout_state[])
RETURNS payouts.payouts LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
BEGIN
    PERFORM FROM ledger.balances b
    WHERE b.slice = 0 AND b.account_id = (
        SELECT p.account_id FROM payouts.payouts p WHERE p.id = payout)
    FOR NO KEY UPDATE;
    SELECT * INTO of FROM payouts.payouts p WHERE p.id = payout FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no payout %', payout USING ERRCODE = 'no_data_found';
    END IF;
    IF of.state <> ALL (states) THEN
        RAISE EXCEPTION 'payout % is %: only one that is % is %', payout, of.state,
            array_to_string(states, ' or '), doing
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN of;
END $$;

-- Keeps a payout from being issued.
--   is_kept_back   until somebody decides; if not, the close of a later quarter pays it
CREATE OR REPLACE FUNCTION payouts.hold(
    payout bigint, actor text, reason text, is_kept_back boolean DEFAULT true
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM payouts.expect(payout, 'held', 'pending');
    PERFORM payouts.change(payout, 'held', 'hold', actor, reason);
    IF is_kept_back THEN
        UPDATE payouts.payouts p SET is_kept_back = true WHERE p.id = payout;
    END IF;
END $$;

-- Refuses what cannot be done while the file that a payout is in is being made.
CREATE OR REPLACE FUNCTION payouts.expect_published(of payouts.payouts)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM payouts.files f WHERE f.id = of.file_id AND f.published_at IS NULL) THEN
        RAISE EXCEPTION 'the files with payout % are being made: issue the run again, which ends '
            'it', of.id USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
END $$;

-- Pays what was held, by the next files of its run.
CREATE OR REPLACE FUNCTION payouts.release(payout bigint, actor text, reason text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
    lack text;
BEGIN
    of := payouts.expect(payout, 'released', 'held');
    SELECT payouts.lack(y.person_id IS NOT NULL, p.birth_date, p.age_verified_at, of.currency)
    INTO lack FROM (VALUES (of.person_id)) AS v (id)
    LEFT JOIN people.people p ON p.id = v.id
    LEFT JOIN payouts.payees y ON y.person_id = v.id;
    IF lack IS NOT NULL THEN
        RAISE EXCEPTION 'payout %: %', payout, lack USING ERRCODE = 'check_violation';
    END IF;
    PERFORM payouts.change(payout, 'pending', 'release', actor, reason);
    -- Who ends the run meanwhile waits, and sees what is pending then.
    PERFORM FROM payouts.runs r WHERE r.id = of.run_id FOR NO KEY UPDATE;
    UPDATE payouts.runs r SET state = 'issued', settled_at = NULL
    WHERE r.id = of.run_id AND r.state = 'settled';
END $$;

-- Ends a payout that is not to be paid, or whose cheque is worthless: the money is the person's.
CREATE OR REPLACE FUNCTION payouts.void(payout bigint, actor text, reason text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
BEGIN
    of := payouts.expect(payout, 'void', 'pending', 'held', 'issued');
    IF of.state = 'issued' AND of.cheque_number IS NULL THEN
        RAISE EXCEPTION 'payout % is a deposit that the bank has: it is not void before it comes '
            'back', payout USING ERRCODE = 'check_violation';
    END IF;
    PERFORM payouts.expect_published(of);
    PERFORM payouts.change(payout, 'void', 'void', actor, reason);
END $$;

-- A payout came back: the money is the person's again. False when that was noted before.
--   reason       that the person may read
--   is_refused   nothing more is to be sent to these bank details
--   note         of the operator, for the record
CREATE OR REPLACE FUNCTION payouts.take_back(
    payout bigint, actor text, reason text, is_refused boolean, note text
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
BEGIN
    SELECT * INTO of FROM payouts.payouts p WHERE p.id = payout;
    IF of.state IN ('returned', 'reissued') THEN
        RETURN false;
    END IF;
    of := payouts.expect(payout, 'returned', 'issued', 'settled');
    PERFORM payouts.expect_published(of);
    PERFORM payouts.change(payout, 'returned', 'return', actor,
        left(concat_ws(': ', reason, note), 500));
    UPDATE payouts.payouts p SET reason = reason WHERE p.id = payout;
    IF is_refused THEN
        -- Unless they were given anew since then.
        UPDATE payouts.bank_details d SET refused_at = clock_timestamp(), refused_for = reason
        FROM payouts.items i
        WHERE d.person_id = of.person_id AND i.file_id = of.file_id AND i.payout_id = payout
          AND d.given_at = i.given_at;
    END IF;
    RETURN true;
END $$;

-- Pays anew what came back or was void, by another payout of the same run; returns its id.
--   method   null: a deposit if there are bank details that were not refused
CREATE OR REPLACE FUNCTION payouts.reissue(
    payout bigint, method payouts.method, actor text, reason text
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
    made bigint;
BEGIN
    of := payouts.expect(payout, 'reissued', 'returned', 'void');
    IF of.file_id IS NULL THEN
        RAISE EXCEPTION 'payout % was never issued: the next run pays it', payout
            USING ERRCODE = 'check_violation';
    END IF;
    IF of.state = 'void' THEN
        SELECT p.id INTO made FROM payouts.payouts p
        WHERE p.account_id = of.account_id AND p.run_id <> of.run_id AND p.state <> 'void'
          AND p.chunk IS NOT NULL AND p.id > payout AND EXISTS (
            SELECT FROM payouts.changes c JOIN payouts.chunks k
                ON k.run_id = p.run_id AND k.number = p.chunk AND c.at < k.done_at
            WHERE c.payout_id = payout AND c.action = 'void')
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'payout %: its money is part of payout %', payout, made
                USING ERRCODE = 'check_violation';
        END IF;
    END IF;
    PERFORM payouts.change(payout, 'reissued', 'reissue', actor, reason);
    INSERT INTO payouts.payouts AS p (run_id, person_id, account_id, amount, replaces, state,
        method, currency)
    VALUES (of.run_id, of.person_id, of.account_id, of.amount, payout, 'held', method, of.currency)
    RETURNING p.id INTO made;
    PERFORM payouts.release(made, actor, reason);
    RETURN made;
END $$;

-- Takes note that the bank has paid: a page of payouts of one run in one transaction of the ledger
-- for each currency; returns how many were not settled before.
CREATE OR REPLACE FUNCTION payouts.settle(run bigint, payouts bigint[], actor text, reason text)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    total record;
    settled bigint := 0;
    noted bigint;
BEGIN
    FOR total IN
        WITH page AS (
            SELECT p.id, p.currency, p.amount FROM payouts.payouts p
            WHERE p.id = ANY (payouts) AND p.run_id = run AND p.state = 'issued' AND EXISTS (
                SELECT FROM payouts.files f
                WHERE f.id = p.file_id AND f.published_at IS NOT NULL)
            ORDER BY p.id FOR NO KEY UPDATE OF p
        )
        SELECT d.currency, count(*) AS count, sum(d.amount)::bigint AS amount, min(d.id) AS first,
            array_agg(d.id) AS ids
        FROM page d GROUP BY 1 ORDER BY 1
    LOOP
        noted := payouts.note(run, 'settle', actor, reason,
            CASE WHEN total.count = 1 THEN total.first END, total.count, total.amount,
            total.currency, ledger.post('payouts:settled:' || total.first, 'payout_settled',
                ARRAY[ledger.account('payouts_in_transit', 0, total.currency),
                    ledger.account('bank', 0, total.currency)],
                ARRAY[-total.amount, total.amount], NULL, 'payout:' || total.first, NULL, actor));
        UPDATE payouts.payouts p SET state = 'settled', settlement = noted
        WHERE p.id = ANY (total.ids);
        settled := settled + total.count;
    END LOOP;
    RETURN settled;
END $$;

-- Ends a run of which nothing is to be issued or settled any more; false when something is.
CREATE OR REPLACE FUNCTION payouts.end_run(run bigint, actor text)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM payouts.runs r WHERE r.id = run AND r.state = 'issued' FOR NO KEY UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM payouts.payouts p
        WHERE p.run_id = run AND p.state IN ('pending', 'issued')) THEN
        RETURN false;
    END IF;
    UPDATE payouts.runs r SET state = 'settled', settled_at = clock_timestamp() WHERE r.id = run;
    PERFORM payouts.note(run, 'settled', actor, NULL, NULL, NULL, NULL, NULL, NULL);
    RETURN true;
END $$;
