-- Batches of notices that are prepared ahead and go out together when they are released.

-- Releases a batch when the transaction commits: one statement creates the jobs of all its
-- deliveries, and another its inbox items. Returns the number of jobs; 0 for a batch that was
-- already released.
CREATE OR REPLACE FUNCTION notification.release(batch text) RETURNS bigint LANGUAGE plpgsql AS $$
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
    -- One time for all rows, which may not be older than the lock under which they are written: see
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

-- Withdraws a batch before its release, so that nobody is notified. Returns the number of notices.
CREATE OR REPLACE FUNCTION notification.call_off(batch text, reason text) RETURNS bigint
LANGUAGE plpgsql AS $$
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
