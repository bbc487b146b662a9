-- How long rows are kept that nobody reads any more: see people.retention_rules. Each deletes at
-- most max_rows, from the oldest on, and leaves what is locked for the next time.

-- Invitations that have ended.
CREATE OR REPLACE FUNCTION household.forget_invitations(
    before timestamptz, max_rows int, only_count boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    old tid[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM household.invitations i
            WHERE i.state <> 'sent' AND i.ended_at < before LIMIT max_rows) i);
    END IF;
    old := ARRAY(SELECT i.ctid FROM household.invitations i
        WHERE i.state <> 'sent' AND i.ended_at < before
        ORDER BY i.ended_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    DELETE FROM household.invitations i WHERE i.ctid = ANY (old);
    RETURN cardinality(old);
END $$;

-- Items that were taken off a list.
CREATE OR REPLACE FUNCTION household.forget_items(
    before timestamptz, max_rows int, only_count boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    old tid[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM household.items i
            WHERE i.state = 'removed' AND i.added_at < before LIMIT max_rows) i);
    END IF;
    old := ARRAY(SELECT i.ctid FROM household.items i
        WHERE i.state = 'removed' AND i.added_at < before
        ORDER BY i.added_at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    DELETE FROM household.items i WHERE i.ctid = ANY (old);
    RETURN cardinality(old);
END $$;

-- Failed sessions.
CREATE OR REPLACE FUNCTION household.forget_sessions(
    before timestamptz, max_rows int, only_count boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    old tid[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM household.failed_sessions f
            WHERE f.at < before LIMIT max_rows) f);
    END IF;
    old := ARRAY(SELECT f.ctid FROM household.failed_sessions f WHERE f.at < before
        ORDER BY f.at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    DELETE FROM household.failed_sessions f WHERE f.ctid = ANY (old);
    RETURN cardinality(old);
END $$;

-- Requests that nobody repeats any more.
CREATE OR REPLACE FUNCTION household.forget_requests(
    before timestamptz, max_rows int, only_count boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    old tid[];
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM household.requests r
            WHERE r.at < before LIMIT max_rows) r);
    END IF;
    old := ARRAY(SELECT r.ctid FROM household.requests r WHERE r.at < before
        ORDER BY r.at LIMIT max_rows FOR UPDATE SKIP LOCKED);
    DELETE FROM household.requests r WHERE r.ctid = ANY (old);
    RETURN cardinality(old);
END $$;
