-- Changes of single payouts. Rewards of a quarter are paid by deposit to people with bank details,
-- and by cheque to all others.
--
-- The money of pending and issued payouts is in the account payouts_in_transit, and the money of
-- settled ones has left the account bank. In every other state it is in the person's account.

-- The account with the money of a payout.
CREATE OR REPLACE FUNCTION payouts.place_of(state payouts.payout_state) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN $1 IN ('pending', 'issued') THEN 'payouts_in_transit'
        WHEN $1 = 'settled' THEN 'bank' ELSE 'person' END
$$;

-- Changes the state of a payout, posts its money and records the change. Every change of a single
-- payout uses this function.
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
    -- Lock the balance before the payout, in the order of close_chunk().
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
            RAISE EXCEPTION 'payout % needs % minor units, but the balance is %: another run paid '
                'the rest', payout, of.amount, owed
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

-- Locks a payout and returns it; raises an error unless it is in one of the states.
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
        RAISE EXCEPTION 'payout % is %: only % payouts can be %', payout, of.state,
            array_to_string(states, ' or '), doing
            USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
    RETURN of;
END $$;

-- Holds a payout.
--   is_kept_back   whether later runs hold it too until it is released; otherwise they pay it
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

-- Raises an error while the file of a payout is being written.
CREATE OR REPLACE FUNCTION payouts.expect_published(of payouts.payouts)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM payouts.files f WHERE f.id = of.file_id AND f.published_at IS NULL) THEN
        RAISE EXCEPTION 'the files of payout % are incomplete: issue the run again to finish them',
            of.id USING ERRCODE = 'RU001', DETAIL = 'wrong_state';
    END IF;
END $$;

-- Releases a held payout; the next issue of its run includes it.
CREATE OR REPLACE FUNCTION payouts.release(payout bigint, actor text, reason text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
    lack text;
BEGIN
    of := payouts.expect(payout, 'released', 'held');
    SELECT payouts.lack(y.person_id IS NOT NULL, p.birth_date, p.age_verified_at, p.blocked_at,
        p.time_zone, of.currency, now())
    INTO lack FROM (VALUES (of.person_id)) AS v (id)
    LEFT JOIN people.people p ON p.id = v.id
    LEFT JOIN payouts.payees y ON y.person_id = v.id;
    IF lack IS NOT NULL THEN
        RAISE EXCEPTION 'payout %: %', payout, lack USING ERRCODE = 'check_violation';
    END IF;
    PERFORM payouts.change(payout, 'pending', 'release', actor, reason);
    -- Lock the run, so that a concurrent end_run() waits and sees the pending payout.
    PERFORM FROM payouts.runs r WHERE r.id = of.run_id FOR NO KEY UPDATE;
    UPDATE payouts.runs r SET state = 'issued', settled_at = NULL
    WHERE r.id = of.run_id AND r.state = 'settled';
END $$;

-- Voids an unpaid payout or a cheque; the money returns to the person's balance.
CREATE OR REPLACE FUNCTION payouts.void(payout bigint, actor text, reason text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of payouts.payouts;
BEGIN
    of := payouts.expect(payout, 'voided', 'pending', 'held', 'issued');
    IF of.state = 'issued' AND of.cheque_number IS NULL THEN
        RAISE EXCEPTION 'payout % is an issued deposit: it cannot be voided until the bank returns '
            'it', payout USING ERRCODE = 'check_violation';
    END IF;
    PERFORM payouts.expect_published(of);
    PERFORM payouts.change(payout, 'void', 'void', actor, reason);
END $$;

-- Returns the money of a payout to the person's balance; false if the return is already recorded.
--   reason       visible to the person
--   is_refused   whether to stop deposits to these bank details
--   note         the operator's reason for the history
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
        -- Only if the person has not changed them since.
        UPDATE payouts.bank_details d SET refused_at = clock_timestamp(), refused_for = reason
        FROM payouts.items i
        WHERE d.person_id = of.person_id AND i.file_id = of.file_id AND i.payout_id = payout
          AND d.given_at = i.given_at;
    END IF;
    RETURN true;
END $$;

-- Reissues a returned or void payout by another payout of the same run; returns its id.
--   method   null: a deposit if the person has valid bank details
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
            RAISE EXCEPTION 'payout %: payout % includes its money', payout, made
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

-- Settles a page of payouts of a run, with one transaction of the ledger per currency; returns the
-- number of newly settled payouts.
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

-- Settles a run without pending or issued payouts; false if it has some.
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
