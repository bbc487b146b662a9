-- Planning, approving and cancelling a destruction.

-- Plans a destruction; returns its id.
--
-- A plan never changes. Only the owner, and logins that are members of it, may call this.
CREATE OR REPLACE FUNCTION custody.plan(
    actor text, reason text, notified_on date, keeps_ledger boolean, context text, folders text[],
    accepted text[]
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    open custody.destructions;
    id bigint;
BEGIN
    PERFORM errand.expect(errand.operator_key(actor) <> '', 'actor: expected a name');
    PERFORM errand.expect(notified_on <= current_date,
        'notified_on: expected the day on which people were notified, not one to come');
    SELECT * INTO open FROM custody.destructions d
    WHERE d.state IN ('planned', 'approved', 'started');
    IF FOUND THEN
        PERFORM errand.refuse('open', format('destruction %s is %s', open.id, open.state),
            'errand destruction status shows it; errand destruction cancel ends it.');
    END IF;
    INSERT INTO custody.destructions AS d (notified_on, keeps_ledger, context, folders, accepted,
        reason, planned_by)
    VALUES (notified_on, keeps_ledger, context, coalesce(folders, '{}'), coalesce(accepted, '{}'),
        reason, actor)
    RETURNING d.id INTO id;
    RETURN id;
END $$;

-- The destruction of this id, locked; the open or else the last one if it is null.
CREATE OR REPLACE FUNCTION custody.lock_destruction(destruction bigint)
RETURNS custody.destructions LANGUAGE plpgsql AS $$
DECLARE
    found_one custody.destructions;
BEGIN
    SELECT * INTO found_one FROM custody.destructions d
    WHERE destruction IS NULL OR d.id = destruction
    ORDER BY d.id DESC LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION '%', coalesce('there is no destruction ' || destruction,
            'no destruction is planned') USING ERRCODE = 'no_data_found';
    END IF;
    RETURN found_one;
END $$;

-- Refuses unless the destruction is started. Until the end of the transaction nobody cancels it.
CREATE OR REPLACE FUNCTION custody.expect_started(destruction bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT custody.destructions := custody.lock_destruction(destruction);
BEGIN
    IF of.state <> 'started' THEN
        PERFORM errand.refuse('wrong_state', format('destruction %s is %s', of.id, of.state));
    END IF;
END $$;

-- Approves a planned destruction.
--
-- Who plans and who approves must be two persons, by their names and by their logins: as
-- payouts.approve().
CREATE OR REPLACE FUNCTION custody.approve(destruction bigint, actor text) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT custody.destructions := custody.lock_destruction(destruction);
    rules custody.rules;
BEGIN
    SELECT * INTO rules FROM custody.rules;
    IF of.state <> 'planned' THEN
        PERFORM errand.refuse('wrong_state', format(
            'destruction %s is %s: only a planned one can be approved', of.id, of.state));
    END IF;
    PERFORM errand.expect(errand.operator_key(actor) <> '', 'actor: expected a name');
    IF NOT rules.allows_same THEN
        IF errand.operator_key(of.planned_by) = errand.operator_key(actor) THEN
            PERFORM errand.refuse('same_person', format(
                'destruction %s was planned by %s: another person must approve it', of.id,
                of.planned_by),
                'errand destruction rules --allow-same on allows one person to do both.');
        END IF;
        IF of.planned_by_login = session_user AND NOT rules.allows_shared_login THEN
            PERFORM errand.refuse('same_login', format(
                'destruction %s was planned by the login %s: another login must approve it', of.id,
                of.planned_by_login), 'Log in to PostgreSQL as somebody else, or errand '
                'destruction rules --allow-shared-login on allows two persons to share a login.');
        END IF;
    END IF;
    UPDATE custody.destructions d SET state = 'approved', approved_at = clock_timestamp(),
        approved_by = actor, approved_by_login = session_user WHERE d.id = of.id;
END $$;

-- Claims the run of a destruction for this session, until the session ends; returns whether no
-- other session has it.
CREATE OR REPLACE FUNCTION custody.claim_run(destruction bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO custody.runners AS c (destruction_id, backend_started, backend)
    SELECT destruction, a.backend_start, a.pid
    FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
    ON CONFLICT ON CONSTRAINT runners_pkey DO UPDATE
    SET claimed_at = excluded.claimed_at, backend_started = excluded.backend_started,
        backend = excluded.backend, login = excluded.login
    WHERE c.backend = excluded.backend
        OR NOT coalesce(errand.session_lives(c.backend, c.backend_started), true);
    RETURN FOUND;
END $$;

-- Starts an approved destruction; a started one is left as it is. Returns its id.
CREATE OR REPLACE FUNCTION custody.begin_destruction(destruction bigint, actor text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT custody.destructions := custody.lock_destruction(destruction);
    rules custody.rules;
BEGIN
    IF of.state = 'started' THEN
        RETURN of.id;
    ELSIF of.state <> 'approved' THEN
        PERFORM errand.refuse('wrong_state', format('destruction %s is %s%s', of.id, of.state,
            CASE of.state WHEN 'planned' THEN ': another operator must approve it first'
                ELSE '' END),
            CASE of.state WHEN 'planned' THEN 'errand destruction approve' END);
    END IF;
    SELECT * INTO rules FROM custody.rules;
    IF of.notified_on + rules.notice_days > current_date THEN
        PERFORM errand.refuse('notice', format('people were notified on %s: destruction %s may '
            'start on %s', of.notified_on, of.id, of.notified_on + rules.notice_days));
    END IF;
    PERFORM custody.expect_detached(of.id);
    UPDATE custody.destructions d SET state = 'started', started_at = clock_timestamp(),
        started_by = actor WHERE d.id = of.id;
    INSERT INTO custody.steps (destruction_id, position, name)
    SELECT of.id, s.position, s.name
    FROM unnest(ARRAY['intake', 'drain', 'count', 'keys', 'data', 'redis', 'files', 'verify'])
        WITH ORDINALITY AS s (name, position);
    RETURN of.id;
END $$;

-- Cancels a destruction before its first key is destroyed: gives apps their rights back.
--
-- A run of it that is under way ends with its next step: custody.expect_started().
CREATE OR REPLACE FUNCTION custody.cancel(destruction bigint, actor text) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of CONSTANT custody.destructions := custody.lock_destruction(destruction);
BEGIN
    IF of.state NOT IN ('planned', 'approved', 'started')
        OR EXISTS (SELECT FROM custody.steps s WHERE s.destruction_id = of.id
            AND s.name = 'keys' AND s.started_at IS NOT NULL)
    THEN
        PERFORM errand.refuse('wrong_state', format('destruction %s %s', of.id,
            CASE of.state WHEN 'started' THEN 'has begun to destroy the keys: it can only be '
                'completed'
                ELSE 'is ' || of.state END));
    END IF;
    PERFORM custody.resume_intake(of.id);
    UPDATE custody.destructions d SET state = 'cancelled', ended_at = clock_timestamp(),
        cancelled_by = actor WHERE d.id = of.id;
    RETURN of.id;
END $$;
