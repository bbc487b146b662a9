-- Blocked and erased people, what is known of a person, and how long names are kept; see
-- people.holders and people.retention_rules.

-- The payouts of a person.
CREATE OR REPLACE FUNCTION payouts.known_of(person bigint) RETURNS SETOF payouts.payouts
LANGUAGE sql STABLE AS $$
    SELECT p.* FROM payouts.payouts p WHERE p.account_id = ANY (ARRAY(
        SELECT a.id FROM ledger.accounts a WHERE a.owner = $1 AND a.kind = 'person'))
$$;

-- Locks a person's balances, and so waits for sessions that change their payouts. The next one
-- sees these changes; and all who come later lock the balances first, then read who is blocked.
CREATE OR REPLACE FUNCTION payouts.lock_balances(person bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM ledger.balances b
    WHERE b.slice = 0 AND b.account_id = ANY (ARRAY(
        SELECT a.id FROM ledger.accounts a WHERE a.owner = person AND a.kind = 'person'))
    ORDER BY b.account_id FOR NO KEY UPDATE;
END $$;

-- Holds the pending payouts of a blocked person. The next run pays them, or an operator releases
-- them, if the person is kept; until then payouts.lack() holds whatever a run makes.
CREATE OR REPLACE FUNCTION payouts.block(person bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    payout bigint;
    reason CONSTANT text := CASE people.obstacle(person) WHEN 'under_age' THEN 'is under 16'
        ELSE 'the account is blocked' END;
BEGIN
    PERFORM payouts.lock_balances(person);
    FOR payout IN SELECT p.id FROM payouts.known_of(person) p
        WHERE p.state = 'pending' ORDER BY p.account_id, p.id
    LOOP
        -- An issue may have taken it meanwhile.
        BEGIN
            PERFORM payouts.hold(payout, 'errand', reason, is_kept_back => false);
        EXCEPTION WHEN SQLSTATE 'RU001' THEN
        END;
    END LOOP;
END $$;

-- Deletes a person's name, address and bank details. Payouts stay by id. The name and address of an
-- issued payout stay as long as the books, on which the law insists; bank details do not, so that
-- the issue's files cannot be written again.
CREATE OR REPLACE FUNCTION payouts.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    payees bigint;
    details bigint;
    seals bigint;
    busy bigint;
BEGIN
    PERFORM payouts.block($1);
    SELECT min(i.payout_id) INTO busy FROM payouts.items i JOIN payouts.files f ON f.id = i.file_id
    WHERE i.person_id = $1 AND f.published_at IS NULL;
    IF busy IS NOT NULL THEN
        PERFORM errand.ask_again(format('payout %s is being issued', busy),
            'Issue its run again to finish its files.');
    END IF;
    -- Nobody can be paid them, so that nobody need look at them; the money is in the balance.
    PERFORM payouts.change(p.id, 'void', 'void', 'errand', 'the person was erased')
    FROM payouts.known_of($1) p WHERE p.state = 'held' ORDER BY p.account_id, p.id;
    DELETE FROM payouts.payees y WHERE y.person_id = $1;
    GET DIAGNOSTICS payees = ROW_COUNT;
    DELETE FROM payouts.bank_details d WHERE d.person_id = $1;
    GET DIAGNOSTICS details = ROW_COUNT;
    UPDATE payouts.items i SET sealed = NULL WHERE i.person_id = $1 AND i.sealed IS NOT NULL;
    GET DIAGNOSTICS seals = ROW_COUNT;
    RETURN QUERY VALUES
        ('payouts.payees', 'deleted', payees, NULL),
        ('payouts.bank_details', 'deleted', details, NULL),
        ('payouts.items', 'anonymized', seals, 'bank details in files'),
        ('payouts.items', 'kept', (SELECT count(*) FROM payouts.items i
                WHERE i.person_id = $1 AND i.payee <> ''),
            'names and addresses of issued payouts: the books keep them for 7 years'),
        ('payouts.payouts', 'kept', (SELECT count(*) FROM payouts.known_of($1)),
            'by id alone, for the books; money that was not issued stays in the balance'),
        ('payouts.forfeits', 'kept', (SELECT count(*) FROM payouts.forfeits f
                WHERE f.person_id = $1),
            'by id alone, for the books: what the person gave up');
END $$;

-- Returns all that is known of a person.
CREATE OR REPLACE FUNCTION payouts.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'payees', coalesce((SELECT jsonb_agg(jsonb_build_object('name', y.name,
                'address', y.address, 'updated_at', people.written(y.updated_at)))
            FROM payouts.payees y WHERE y.person_id = $1), '[]'),
        'bank_details', coalesce((SELECT jsonb_agg(jsonb_build_object('country', d.country,
                'hint', d.hint, 'given_at', people.written(d.given_at),
                'refused_at', people.written(d.refused_at), 'refused_for', d.refused_for,
                'details', 'sealed'))
            FROM payouts.bank_details d WHERE d.person_id = $1), '[]'),
        'payouts', coalesce((SELECT jsonb_agg(jsonb_build_object('id', p.id, 'quarter', r.quarter,
                'pay_date', r.pay_date, 'amount', p.amount, 'currency', p.currency,
                'state', p.state, 'method', p.method, 'cheque', p.cheque_number,
                'replaces', p.replaces, 'reason', p.reason) ORDER BY p.id)
            FROM payouts.known_of($1) p JOIN payouts.runs r ON r.id = p.run_id), '[]'),
        'items', coalesce((SELECT jsonb_agg(jsonb_build_object('payout', i.payout_id,
                'payee', i.payee, 'address', i.address, 'lines', i.lines,
                'details', CASE WHEN i.sealed IS NOT NULL THEN 'sealed' END) ORDER BY i.payout_id)
            FROM payouts.items i WHERE i.person_id = $1), '[]'),
        'forfeits', coalesce((SELECT jsonb_agg(jsonb_build_object('at', people.written(f.at),
                'amounts', f.amounts) ORDER BY f.at)
            FROM payouts.forfeits f WHERE f.person_id = $1), '[]'))
$$;

-- Wipes the names, addresses and bank details of files that were published before a time.
CREATE OR REPLACE FUNCTION payouts.forget_payees(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    found bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM payouts.files f JOIN payouts.items i ON i.file_id = f.id AND i.payee <> ''
            WHERE f.published_at < before LIMIT max_rows) AS old);
    END IF;
    UPDATE payouts.items i SET payee = '', address = '{}', sealed = NULL, lines = NULL
    FROM (
        SELECT o.file_id, o.payout_id
        FROM payouts.files f JOIN payouts.items o ON o.file_id = f.id AND o.payee <> ''
        WHERE f.published_at < before
        ORDER BY o.file_id, o.payout_id LIMIT max_rows FOR NO KEY UPDATE OF o SKIP LOCKED
    ) AS old
    WHERE i.file_id = old.file_id AND i.payout_id = old.payout_id;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;
