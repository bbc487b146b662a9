-- Notices that are prepared ahead, and go out together at the moment when somebody says so.

-- Deliveries that wait for their batch to be released: what is needed to make their jobs.
CREATE TABLE notification.parked_deliveries (
    delivery_id bigint PRIMARY KEY,
    -- Such as vote:12.
    batch text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    args_version smallint NOT NULL,
    priority smallint NOT NULL,
    max_attempts smallint NOT NULL,
    -- The job in whose handler they were made.
    job_id bigint
);
CREATE INDEX parked_deliveries_batch ON notification.parked_deliveries (batch);

-- What people find in their apps from the release on.
CREATE TABLE notification.parked_items (
    notice_id bigint PRIMARY KEY,
    person_id bigint NOT NULL,
    -- Whether the person is told by nothing else: with the release it is sent.
    is_alone boolean NOT NULL,
    batch text COLLATE "C" NOT NULL,
    app text NOT NULL,
    title text NOT NULL,
    body text NOT NULL
);
CREATE INDEX parked_items_batch ON notification.parked_items (batch);

-- Lets a batch go, when the transaction commits: all jobs of its deliveries are made by one
-- statement, and so are its items in the inboxes. Returns how many jobs; 0 for one that has gone.
CREATE FUNCTION notification.release(batch text) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    lane record;
    at timestamptz;
    released bigint;
BEGIN
    INSERT INTO errand.queues (name)
    SELECT DISTINCT d.queue FROM notification.parked_deliveries d WHERE d.batch = batch
    ON CONFLICT DO NOTHING;
    FOR lane IN
        SELECT DISTINCT d.queue || E'\t' || d.kind || E'\t' || d.args_version AS name
        FROM notification.parked_deliveries d WHERE d.batch = batch
    LOOP
        PERFORM errand.wake(lane.name);
    END LOOP;
    WITH gone AS (
        DELETE FROM notification.parked_items i WHERE i.batch = batch RETURNING i.*
    ), sent AS (
        UPDATE notification.notices n SET status = 'sent', answered_at = clock_timestamp()
        FROM gone g WHERE g.is_alone AND n.id = g.notice_id AND n.status = 'pending'
    )
    INSERT INTO notification.inbox_items (notice_id, person_id, app, title, body, created_at)
    SELECT g.notice_id, g.person_id, g.app, g.title, g.body, clock_timestamp() FROM gone g;
    -- One time for all. No row may be older than the lock under which it is written: see
    -- errand.jobs.
    LOCK TABLE errand.jobs IN ROW EXCLUSIVE MODE;
    at := clock_timestamp();
    WITH gone AS (
        DELETE FROM notification.parked_deliveries d WHERE d.batch = batch RETURNING d.*
    )
    INSERT INTO errand.jobs (queue, kind, args_version, priority, max_attempts, options, args,
        run_at)
    SELECT g.queue, g.kind, g.args_version, g.priority, g.max_attempts,
        CASE WHEN g.job_id IS NOT NULL THEN jsonb_build_object(
            'origin', jsonb_build_object('parent', g.job_id)) END,
        jsonb_build_object('delivery_id', g.delivery_id), at
    FROM gone g;
    GET DIAGNOSTICS released = ROW_COUNT;
    RETURN released;
END $$;

-- Takes a batch back before it is released: nobody is told. Returns how many notices.
CREATE FUNCTION notification.call_off(batch text, reason text) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    called_off bigint;
BEGIN
    WITH items AS (
        DELETE FROM notification.parked_items i WHERE i.batch = batch RETURNING i.notice_id
    ), parked AS (
        DELETE FROM notification.parked_deliveries d WHERE d.batch = batch RETURNING d.delivery_id
    ), deliveries AS (
        UPDATE notification.deliveries d
        SET status = 'withdrawn', reply = reason, answered_at = clock_timestamp()
        FROM parked p WHERE d.id = p.delivery_id AND d.status = 'pending' RETURNING d.notice_id
    )
    UPDATE notification.notices n
    SET status = 'withdrawn', reason = reason, answered_at = clock_timestamp()
    WHERE n.id IN (SELECT i.notice_id FROM items i UNION SELECT d.notice_id FROM deliveries d);
    GET DIAGNOSTICS called_off = ROW_COUNT;
    RETURN called_off;
END $$;

-- Takes back what some people have not been told yet of some subjects, because it waits for a
-- better time of their day; the jobs of these notices find nothing to do.
CREATE FUNCTION notification.withdraw_held(people bigint[], subjects text[], reason text)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    UPDATE notification.notices n
    SET status = 'withdrawn', reason = reason, answered_at = clock_timestamp()
    WHERE n.id IN (SELECT h.id FROM notification.notices h
        WHERE h.person_id = ANY (people) AND h.subject = ANY (subjects) AND h.is_held
        ORDER BY h.id FOR NO KEY UPDATE) AND n.is_held;
END $$;

-- Deletes what people were told, or are to be told, of a subject. What a provider has at this
-- moment may still arrive.
CREATE FUNCTION notification.forget(people bigint[], of_subject text) RETURNS void
LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM notification.notices n
        WHERE n.person_id = ANY (people) AND n.subject = of_subject RETURNING n.id
    ), items AS (
        DELETE FROM notification.inbox_items i USING gone g WHERE i.notice_id = g.id
    ), parked_items AS (
        DELETE FROM notification.parked_items i USING gone g WHERE i.notice_id = g.id
    ), deliveries AS (
        DELETE FROM notification.deliveries d USING gone g WHERE d.notice_id = g.id RETURNING d.id
    )
    DELETE FROM notification.parked_deliveries p USING deliveries d WHERE p.delivery_id = d.id
$$;
