-- The gates of votes: locks that only functions with their owner's rights take.
--
-- Not advisory locks: any login could take these, or hold them for as long as it likes.
--
-- Joining shares a gate (FOR KEY SHARE), and a ballot is counted in it, which waits for other
-- ballots there, and for nobody who joins. Closing deletes all gates: a connection that has waited
-- for that finds none, although its snapshot shows an open vote. A vote that may be large has many
-- gates, so that few connections meet in one.
--
-- The expected ballots are divided among the gates: each has room for its part. A ballot is counted
-- in a gate with room, under the lock of its row, so that all together never count more. Nobody
-- waits for a gate while holding another one; so there are no deadlocks, with closings either.

-- Returns the number of gates: one for a small vote, so that its last ballot is recognized.
CREATE OR REPLACE FUNCTION votes.gates_for(expected int)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN expected > 256 THEN 64 WHEN expected > 0 THEN 1 ELSE 32 END;

-- Returns the gate of a connection.
CREATE OR REPLACE FUNCTION votes.gate_for(expected int)
RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE
RETURN (pg_backend_pid() & (votes.gates_for(expected) - 1))::smallint;

-- Returns the gate of a connection in a large vote. It moves on every 10 ms, so that also few
-- connections fill all gates evenly, and seldom meet.
CREATE OR REPLACE FUNCTION votes.moving_gate()
RETURNS smallint LANGUAGE sql STABLE PARALLEL SAFE
RETURN ((pg_backend_pid() + date_part('epoch', statement_timestamp()) * 100)::bigint & 63)
    ::smallint;

-- Returns how many ballots a gate accepts; null for any number.
CREATE OR REPLACE FUNCTION votes.room_of(expected int, gate smallint)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN expected > 256 THEN expected / 64 + (gate < expected % 64)::int ELSE expected END;

-- Returns the count of a gate from which on its ballot may be the last of the vote: the last of all
-- fills a gate. Of many gates, four ballots each, so that one that comes after a closing that was
-- too early enqueues the next.
CREATE OR REPLACE FUNCTION votes.last_in(expected int, gate smallint)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN votes.room_of(expected, gate) - CASE WHEN expected > 256 THEN 3 ELSE 0 END;

-- Returns the count from which on a ballot may be the last. In a large vote, concurrent ballots are
-- invisible here; closing counts them.
CREATE OR REPLACE FUNCTION votes.last_from(expected int)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN expected > 256 THEN expected - 256 ELSE expected END;

-- Adds the gates of a new vote.
CREATE OR REPLACE FUNCTION votes.add_gates(vote bigint, expected int)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO votes.gates (vote_id, number)
    SELECT vote, n FROM generate_series(-1, votes.gates_for(expected) - 1) n;
END $$;

-- Raises an error in a transaction whose snapshot may be older than a closing.
CREATE OR REPLACE FUNCTION votes.expect_read_committed()
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'joining, casting and closing require a read committed transaction'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
END $$;

-- Returns whether the vote accepts ballots: ok, too_early or closed.
CREATE OR REPLACE FUNCTION votes.standing_of(vote bigint, is_to_cast boolean)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz;
    of record;
BEGIN
    SELECT v.state, v.opens_at, v.closes_at, v.expected <= (
        SELECT sum(g.casts) FROM votes.gates g WHERE g.vote_id = vote AND g.number >= 0
    ) AS is_complete
    INTO of FROM votes.votes v WHERE v.id = vote;
    at := clock_timestamp();
    RETURN CASE
        WHEN of.state <> 'open' OR at >= of.closes_at OR of.is_complete THEN 'closed'
        WHEN is_to_cast AND at < of.opens_at THEN 'too_early' ELSE 'ok' END;
END $$;

-- Waits for a concurrent closing, then returns whether people may join: ok or closed. Blocks the
-- closing until the caller's transaction ends.
CREATE OR REPLACE FUNCTION votes.enter(vote bigint, expected int)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM votes.expect_read_committed();
    PERFORM FROM votes.gates g
    WHERE g.vote_id = vote AND g.number = votes.gate_for(expected) FOR KEY SHARE;
    -- A separate statement, so that its snapshot is taken after the lock.
    RETURN votes.standing_of(vote, false);
END $$;

-- Locks a gate of a large vote that has room and that nobody holds, the connection's own first;
-- null if there is none.
CREATE OR REPLACE FUNCTION votes.free_gate(vote bigint, expected int)
RETURNS smallint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT g.number FROM votes.gates g
        WHERE g.vote_id = vote AND g.number >= 0 AND g.casts < votes.room_of(expected, g.number)
        ORDER BY g.number # votes.gate_for(expected) LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
END $$;

-- Locks a gate that has room, and waits for it if need be; null if all are full, or gone with a
-- closing. Blocks the closing until the caller's transaction ends.
CREATE OR REPLACE FUNCTION votes.take_gate(vote bigint, expected int)
RETURNS smallint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    gate smallint := votes.free_gate(vote, expected);
BEGIN
    WHILE gate IS NULL LOOP
        -- Each statement sees what was committed meanwhile.
        SELECT g.number INTO gate FROM votes.gates g
        WHERE g.vote_id = vote AND g.number >= 0
          AND coalesce(g.casts < votes.room_of(expected, g.number), true)
        ORDER BY g.number # votes.gate_for(expected) LIMIT 1;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        BEGIN
            PERFORM FROM votes.gates g
            WHERE g.vote_id = vote AND g.number = gate
              AND coalesce(g.casts < votes.room_of(expected, gate), true) FOR NO KEY UPDATE;
            IF NOT FOUND THEN
                PERFORM errand.ask_again('the gate is full');
            END IF;
        EXCEPTION WHEN SQLSTATE 'RU002' THEN
            -- Its lock is released before the next one is waited for.
            gate := NULL;
        END;
    END LOOP;
    RETURN gate;
END $$;

-- Waits for those who join and cast, and keeps others out; returns the number of ballots. Callers
-- have locked the vote's row.
CREATE OR REPLACE FUNCTION votes.close_gates(vote bigint) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    casts bigint;
BEGIN
    WITH gone AS (
        DELETE FROM votes.gates g WHERE g.vote_id = vote AND g.number >= 0 RETURNING g.casts
    )
    SELECT sum(g.casts) INTO casts FROM gone g;
    RETURN casts;
END $$;

-- Holds the gates of a vote unless somebody is there; returns whether it does.
CREATE OR REPLACE FUNCTION votes.try_gates(vote bigint) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM votes.gates g WHERE g.vote_id = vote AND g.number >= 0 FOR UPDATE NOWAIT;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Waits for preparations of notices, and keeps others out until the caller's transaction ends.
CREATE OR REPLACE FUNCTION votes.hold_news(vote bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    PERFORM FROM votes.gates g WHERE g.vote_id = vote AND g.number = -1 FOR UPDATE;
END $$;
