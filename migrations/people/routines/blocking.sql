-- Blocking a person, and what starts an erasure.

-- Blocks a person: from now on no notice, offer, code, grant or money. Each module withdraws what
-- is open; with is_lenient, one that fails is noted, and tried again when the erasure starts.
CREATE OR REPLACE FUNCTION people.block(person bigint, is_lenient boolean DEFAULT false)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    holder text;
    failure text;
BEGIN
    UPDATE people.people p SET blocked_at = clock_timestamp()
    WHERE p.id = person AND p.blocked_at IS NULL;
    FOR holder IN
        SELECT h.module FROM people.holders h WHERE h.blocks ORDER BY h.position, h.module
    LOOP
        IF NOT is_lenient THEN
            EXECUTE format('SELECT %I.block($1)', holder) USING person;
            CONTINUE;
        END IF;
        BEGIN
            EXECUTE format('SELECT %I.block($1)', holder) USING person;
        EXCEPTION WHEN OTHERS THEN
            -- Without the text, which may name anything.
            failure := holder || ' ' || SQLSTATE;
        END;
    END LOOP;
    RETURN failure;
END $$;

-- Blocks a person and requests the erasure, or returns the one that is open. A request takes over
-- one that nobody asked for.
--   starts_in  how long an operator can object before it starts
CREATE OR REPLACE FUNCTION people.open_erasure(
    person bigint, cause text, reason text DEFAULT NULL, request_hash bytea DEFAULT NULL,
    starts_in interval DEFAULT '0'
) RETURNS people.erasures LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    e people.erasures;
    takes_over boolean;
    failure text;
BEGIN
    -- One of several at once waits for the others.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    SELECT * INTO e FROM people.erasures r
    WHERE r.person_id = person AND r.state IN ('requested', 'running');
    IF FOUND THEN
        takes_over := e.cause IN ('under_age', 'unused') AND cause NOT IN ('under_age', 'unused');
        -- Somebody asks: no need to wait for objections to the age any more, and being 16 by then
        -- does not stop it.
        IF e.state = 'requested' AND (takes_over OR e.starts_at > at + starts_in
            OR e.request_hash IS NULL AND request_hash IS NOT NULL)
        THEN
            UPDATE people.erasures r
            SET starts_at = least(r.starts_at, at + starts_in),
                target_at = least(r.target_at, at + starts_in + interval '72 hours'),
                cause = CASE WHEN takes_over THEN cause ELSE r.cause END,
                request_hash = coalesce(r.request_hash, request_hash),
                reason = coalesce(reason, r.reason)
            WHERE r.id = e.id RETURNING * INTO e;
            PERFORM people.enqueue_erasure(e);
        END IF;
        RETURN e;
    END IF;
    failure := people.block(person, is_lenient => true);
    INSERT INTO people.erasures (person_id, cause, requested_at, starts_at, target_at, due_at,
        request_hash, reason, failure, failed_at)
    VALUES (person, cause, at, at + starts_in, at + starts_in + interval '72 hours',
        at + interval '30 days', request_hash, reason, failure,
        CASE WHEN failure IS NOT NULL THEN at END)
    RETURNING * INTO e;
    PERFORM people.enqueue_erasure(e);
    RETURN e;
END $$;

-- Enqueues the job of an erasure for the time when it starts.
CREATE OR REPLACE FUNCTION people.enqueue_erasure(e people.erasures) RETURNS bigint
LANGUAGE sql AS $$
    SELECT errand.enqueue_own('people.erase', jsonb_build_object('erasure_id', e.id),
        queue => coalesce((SELECT k.queue FROM errand.kinds k WHERE k.kind = 'people.erase'),
            'people'),
        run_at => e.starts_at,
        unique_key => e.id || ' ' || extract(epoch FROM e.starts_at))
$$;

-- Blocks a person who is under 16. The erasure starts 72 hours before it is due, so that an
-- operator can correct a birth date that is wrong.
CREATE OR REPLACE FUNCTION people.block_under_age(person bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT people.is_of_age(person) THEN
        PERFORM people.open_erasure(person, 'under_age', starts_in => '27 days');
    END IF;
END $$;

-- Enqueues the jobs of erasures again that lost theirs, in batches; returns how many.
CREATE OR REPLACE FUNCTION people.enqueue_late(max_rows int DEFAULT 1000) RETURNS bigint
LANGUAGE sql AS $$
    SELECT count(people.enqueue_erasure(e)) FROM (
        SELECT r.* FROM people.erasures r
        WHERE r.state IN ('requested', 'running') AND r.holders_at IS NULL
          AND r.starts_at < clock_timestamp() - interval '1 hour'
        ORDER BY r.starts_at LIMIT max_rows
    ) AS e
$$;

-- An operator's objection: the person is kept and no longer blocked. Returns the state before, null
-- if there is no erasure; only one that has not started can be stopped.
CREATE OR REPLACE FUNCTION people.keep(person bigint, actor text, reason text) RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    e people.erasures;
BEGIN
    PERFORM errand.expect(length(reason) BETWEEN 1 AND 500, 'keep: reason: 1 to 500 characters');
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    SELECT * INTO e FROM people.erasures r
    WHERE r.person_id = person ORDER BY r.id DESC LIMIT 1 FOR NO KEY UPDATE;
    IF e.state = 'requested' THEN
        UPDATE people.erasures r
        SET state = 'kept', ended_at = clock_timestamp(), kept_by = actor, kept_reason = reason,
            failure = NULL
        WHERE r.id = e.id;
        -- Else the next night would find an unused account again, with its old warning.
        UPDATE people.people p
        SET blocked_at = NULL, unused_warned_at = NULL, last_seen_at = CASE e.cause
            WHEN 'unused' THEN clock_timestamp() ELSE p.last_seen_at END
        WHERE p.id = person;
    END IF;
    RETURN e.state;
END $$;
