extension Statements {
    /// The columns of a schedule and the resolved options of its jobs.
    private static let scheduleColumns = """
        s.*, s.declared IS NOT NULL AS is_declared,
        coalesce(s.queue, k.queue, 'default') AS job_queue,
        coalesce(s.priority, k.priority, 2::smallint) AS job_priority,
        coalesce(s.max_attempts, k.max_attempts, 20::smallint) AS job_max_attempts
        """

    /// All schedules, or the one with the name $1.
    package static let schedules = """
        SELECT \(scheduleColumns), errand.changed_settings(s) AS changed,
            errand.schedule_settings(s) AS settings
        FROM errand.schedules s LEFT JOIN errand.kinds k ON k.kind = s.kind
        WHERE $1::text IS NULL OR s.name = $1
        ORDER BY s.name
        """

    package static let scheduleNames = "SELECT name FROM errand.schedules ORDER BY name"

    /// The health of the schedules.
    package static let scheduleHealth = """
        SELECT count(*) AS total, count(paused_at) AS paused,
            count(*) FILTER (WHERE paused_by = 'errand' AND failures >= pause_after) AS failed,
            count(*) FILTER (WHERE since < clock_timestamp() - interval '1 min') AS overdue,
            (array_agg(name ORDER BY since, name)
                FILTER (WHERE since < clock_timestamp() - interval '1 min'))[1] AS longest,
            EXISTS (
                SELECT FROM errand.leaders l WHERE l.role = 'scheduler' AND errand.is_led(l)
            ) AS is_led,
            -- A value such as 'none' is not a release of tzdata and cannot be compared.
            max(planned_with) FILTER (WHERE planned_with ~ '^[0-9]') AS planned_with,
            coalesce(array_agg(kind ORDER BY kind, name) FILTER (WHERE NOT is_declared), '{}')
                AS undeclared,
            coalesce(array_agg(name ORDER BY kind, name) FILTER (WHERE NOT is_declared), '{}')
                AS asking
        FROM (
            SELECT s.name, s.paused_at, s.paused_by, s.failures, s.pause_after, s.planned_with,
                s.kind, k.kind IS NOT NULL AS is_declared,
                CASE WHEN s.paused_at IS NOT NULL THEN NULL
                    WHEN s.next_at > '-infinity' THEN s.next_at
                    WHEN s.replan IN ('new', 'edited') THEN coalesce(s.changed_at, s.created_at)
                    END AS since
            FROM errand.schedules s LEFT JOIN errand.kinds k ON k.kind = s.kind
        ) AS s
        """

    /// PostgreSQL's clock, and the delay in seconds of the longest overdue schedule.
    package static let scheduleLateness = """
        SELECT c.now,
            greatest(coalesce(extract(epoch FROM c.now - (
                SELECT min(s.next_at) FROM errand.schedules s
                WHERE s.paused_at IS NULL AND s.next_at > '-infinity'
            )), 0), 0)::float8 AS lateness
        FROM (SELECT clock_timestamp() AS now OFFSET 0) AS c
        """

    /// The clock ($1, or PostgreSQL's), the due time of the next occurrence, and that of the next
    /// one within $2 seconds that must not be decided on early.
    ///
    /// Times long past are not returned as times to wait for.
    package static let scheduleClock = """
        SELECT c.now,
            (SELECT min(s.next_at) FROM errand.schedules s WHERE s.paused_at IS NULL) AS head,
            (SELECT min(s.next_at) FROM errand.schedules s
             WHERE s.paused_at IS NULL AND s.overlap <> 'allow'
               AND s.next_at > c.now - interval '1 min'
               AND s.next_at <= c.now + make_interval(secs => $2)) AS exact
        FROM (SELECT coalesce($1, clock_timestamp()) AS now OFFSET 0) AS c
        """

    /// Marks schedules for replanning: those planned with older time-zone data than $2 that are not
    /// due yet, and those that a wrong clock has moved.
    package static let refreshPlans = """
        UPDATE errand.schedules
        SET replan = CASE WHEN last_due > $1 + interval '1 min' THEN 'clock' ELSE 'tzdata' END,
            replan_at = clock_timestamp(), next_at = '-infinity'
        -- Skip schedules that a program is declaring: the next run finds them.
        WHERE id IN (
            SELECT id FROM errand.schedules
            WHERE replan IS NULL AND (last_due > $1 + interval '1 min'
                OR (planned_with < $2 AND next_due > $1 AND next_at IS NOT NULL))
            FOR UPDATE SKIP LOCKED)
        """

    /// Locks the next $3 schedules with an occurrence that is due at $1, or at $2 if it may be
    /// decided on early, but not before $4.
    ///
    /// It skips those that another scheduler has locked.
    package static let lockDueSchedules = dueSchedules + " FOR UPDATE OF s SKIP LOCKED"

    /// The same without locks.
    package static let dueSchedules = """
        SELECT \(scheduleColumns)
        FROM errand.schedules s LEFT JOIN errand.kinds k ON k.kind = s.kind
        WHERE s.paused_at IS NULL AND s.next_at <= $2 AND s.next_at >= $4
          AND (s.overlap = 'allow' OR s.next_at <= $1)
        ORDER BY s.next_at, s.id LIMIT $3
        """

    package static let lockSchedule = """
        SELECT \(scheduleColumns)
        FROM errand.schedules s LEFT JOIN errand.kinds k ON k.kind = s.kind
        WHERE s.name = $1 FOR UPDATE OF s
        """

    /// The held occurrences and unfinished jobs of some schedules.
    package static let openOccurrences = """
        SELECT o.schedule_id, o.due_at, o.job_id, o.outcome = 'held' AS is_held,
            j.claimed_by IS NULL AND j.attempt = 0 AS is_waiting
        FROM errand.schedule_occurrences o LEFT JOIN errand.jobs j ON j.id = o.job_id
        WHERE o.schedule_id = ANY ($1) AND o.outcome IN ('held', 'enqueued')
          AND (o.outcome = 'held' OR j.id IS NOT NULL)
        ORDER BY o.schedule_id, o.due_at
        """

    /// Creates the jobs of occurrences that have not been processed.
    ///
    /// The primary key of the occurrences decides, in the transaction that creates the job. An
    /// occurrence whose outcome is among $12 may be processed again.
    package static let runOccurrences = """
        WITH due AS (
            SELECT d.*, nextval('errand.jobs_id_seq') AS job_id
            FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::timestamptz[],
                    $5::text[], $6::text[], $7::smallint[], $8::smallint[], $9::smallint[],
                    $10::jsonb[], $11::jsonb[])
                AS d (schedule_id, due_at, origin, run_at, queue, kind, args_version, priority,
                    max_attempts, args, options)
        ), taken AS (
            INSERT INTO errand.schedule_occurrences AS o
                (schedule_id, due_at, job_id, origin, outcome)
            SELECT schedule_id, due_at, job_id, origin, 'enqueued' FROM due
            ON CONFLICT (schedule_id, due_at) DO UPDATE
            SET job_id = excluded.job_id, decided_at = clock_timestamp(), outcome = 'enqueued',
                origin = CASE o.outcome WHEN 'held' THEN o.origin ELSE excluded.origin END,
                reason = NULL, merged_into = NULL
            WHERE o.outcome = ANY ($12) AND o.merged_into IS NULL
            RETURNING schedule_id, job_id
        ), made AS (
            INSERT INTO errand.jobs (id, queue, kind, args_version, args, priority, max_attempts,
                run_at, options)
            SELECT d.job_id, d.queue, d.kind, d.args_version, d.args, d.priority,
                d.max_attempts, greatest(d.run_at, clock_timestamp()), d.options
            FROM due d JOIN taken t ON t.job_id = d.job_id
            RETURNING id, queue, kind, args_version, run_at
        ), counted AS (
            UPDATE errand.schedules s SET runs = s.runs + t.made
            FROM (SELECT schedule_id, count(*) AS made FROM taken GROUP BY schedule_id) AS t
            WHERE s.id = t.schedule_id
        ), notified AS (
            SELECT pg_notify('errand_ready', lane)::text FROM (
                SELECT DISTINCT queue || E'\\t' || kind || E'\\t' || args_version
                    || CASE WHEN run_at > clock_timestamp() THEN E'\\tlater' ELSE '' END AS lane
                FROM made) AS lanes
        )
        SELECT id, (SELECT count(*) FROM notified) AS lanes FROM made
        """

    /// Records occurrences without a job of their own, or without one yet.
    package static let noteOccurrences = """
        INSERT INTO errand.schedule_occurrences (schedule_id, due_at, origin, outcome, reason,
            merged_into)
        SELECT n.schedule_id, n.due_at, n.origin, n.outcome, n.reason, n.merged_into
        FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[],
                $6::timestamptz[])
            AS n (schedule_id, due_at, origin, outcome, reason, merged_into)
        ON CONFLICT DO NOTHING
        """

    /// Replaces a held occurrence by a later one.
    package static let releaseHeld = """
        UPDATE errand.schedule_occurrences o SET outcome = 'skipped', reason = n.reason
        FROM unnest($1::bigint[], $2::timestamptz[], $3::text[]) AS n (schedule_id, due_at, reason)
        WHERE o.schedule_id = n.schedule_id AND o.due_at = n.due_at AND o.outcome = 'held'
        """

    package static let noteMisses = """
        INSERT INTO errand.schedule_misses (schedule_id, first_due, last_due, count, reason)
        SELECT m.schedule_id, m.first_due, m.last_due, nullif(m.count, 0), m.reason
        FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::text[])
            AS m (schedule_id, first_due, last_due, count, reason)
        """

    /// Advances schedules to their next occurrence; a null next_at ends a schedule.
    package static let advanceSchedules = """
        UPDATE errand.schedules s
        SET next_due = p.next_due, next_at = p.next_at, last_due = p.last_due, replan = NULL,
            planned_with = $5
        FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[])
            AS p (id, next_due, next_at, last_due)
        WHERE s.id = p.id
        """

    /// Postpones schedules that are invalid in this program.
    package static let putOffSchedules = """
        UPDATE errand.schedules SET next_at = $2 + interval '1 min' WHERE id = ANY ($1)
        """

    /// The occurrences after the position ($1, $2) that have jobs, and whether these have finished.
    package static let openPage = """
        SELECT o.schedule_id, o.due_at, o.job_id, j.id IS NULL AS has_ended
        FROM errand.schedule_occurrences o LEFT JOIN errand.jobs j ON j.id = o.job_id
        WHERE o.outcome = 'enqueued' AND (o.schedule_id, o.due_at) > ($1, $2)
        ORDER BY o.schedule_id, o.due_at LIMIT $3
        """

    /// The schedules that hold an occurrence, and whether the previous run has finished.
    package static let holdingSchedules = """
        SELECT h.schedule_id, NOT EXISTS (
            SELECT FROM errand.schedule_occurrences o JOIN errand.jobs j ON j.id = o.job_id
            WHERE o.schedule_id = h.schedule_id AND o.outcome = 'enqueued') AS is_free
        FROM errand.schedule_occurrences h JOIN errand.schedules s ON s.id = h.schedule_id
        WHERE h.outcome = 'held' AND s.paused_at IS NULL
        ORDER BY h.schedule_id LIMIT 1000
        """

    /// The occurrences merged into the held ones of some schedules ($1, due at $2), oldest first.
    package static let mergedInto = """
        SELECT o.schedule_id, o.due_at
        FROM unnest($1::bigint[], $2::timestamptz[]) AS h (schedule_id, due_at)
        JOIN errand.schedules s ON s.id = h.schedule_id AND s.catch_up = 'merge'
        JOIN errand.schedule_occurrences o ON o.schedule_id = h.schedule_id
            AND o.merged_into = h.due_at AND o.due_at < h.due_at
            -- The range of merging, and the time that it may have waited.
            AND o.due_at >= h.due_at - make_interval(secs => s.catch_up_window_s + 86400)
        ORDER BY o.schedule_id, o.due_at
        """

    /// Locks those of some jobs that no other transaction has locked, without waiting.
    package static let lockJobs =
        "SELECT id FROM errand.jobs WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED"

    package static let jobOutcomes = """
        SELECT id, outcome::text AS outcome, finished_at, reason FROM errand.finished_jobs
        WHERE id = ANY ($1)
        """

    /// Locks the schedules of finished jobs, except those that another scheduler has locked.
    package static let lockSchedules = """
        SELECT \(scheduleColumns)
        FROM errand.schedules s LEFT JOIN errand.kinds k ON k.kind = s.kind
        WHERE s.id = ANY ($1) ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
        """

    package static let closeOccurrences = """
        UPDATE errand.schedule_occurrences o
        SET outcome = e.outcome, ended_at = e.ended_at, reason = e.reason
        FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::timestamptz[], $5::text[])
            AS e (schedule_id, due_at, outcome, ended_at, reason)
        WHERE o.schedule_id = e.schedule_id AND o.due_at = e.due_at AND o.outcome = 'enqueued'
        -- Another scheduler may have recorded and counted some of them.
        RETURNING o.schedule_id, o.due_at, o.outcome
        """

    /// Stores the number of consecutive failures, and pauses schedules with too many.
    package static let countFailures = """
        UPDATE errand.schedules s
        SET failures = f.failures,
            paused_at = CASE WHEN f.note IS NULL THEN s.paused_at ELSE $4 END,
            paused_by = CASE WHEN f.note IS NULL THEN s.paused_by ELSE 'errand' END,
            pause_reason = coalesce(f.note, s.pause_reason)
        FROM unnest($1::bigint[], $2::int[], $3::text[]) AS f (id, failures, note)
        WHERE s.id = f.id
        """

    /// Deletes the history older than $2 days of one page of schedules after the id $1.
    package static let forgetOccurrences = """
        WITH page AS (
            SELECT id FROM errand.schedules WHERE id > $1 ORDER BY id LIMIT 1000
        ), forgotten AS (
            DELETE FROM errand.schedule_occurrences o USING page
            WHERE o.schedule_id = page.id AND o.due_at < now() - make_interval(days => $2)
              -- Keep recent backfills of old occurrences.
              AND o.decided_at < now() - make_interval(days => $2)
              AND o.outcome NOT IN ('held', 'enqueued')
        ), missed AS (
            DELETE FROM errand.schedule_misses m USING page
            WHERE m.schedule_id = page.id AND m.last_due < now() - make_interval(days => $2)
              AND m.noted_at < now() - make_interval(days => $2)
        )
        SELECT max(id) FROM page
        """

    // MARK: Statements for operators

    /// Applies settings ($2, with the arguments $3 if any) to the schedule $1, for the operator $4.
    package static let putSchedule = """
        SELECT errand.put_schedule($1, $2::jsonb || CASE WHEN $3::jsonb IS NULL THEN '{}'
            ELSE jsonb_build_object('args', $3::jsonb) END, $4) AS is_new
        """

    package static let removeSchedule = "DELETE FROM errand.schedules WHERE name = $1"

    package static let pauseSchedule = """
        UPDATE errand.schedules
        SET paused_at = clock_timestamp(), paused_by = $2, pause_reason = $3
        WHERE name = $1
        """

    /// Resumes a schedule and resets its failures.
    ///
    /// Occurrences during the pause are recorded as missed.
    package static let resumeSchedule = """
        WITH resumed AS (
            UPDATE errand.schedules
            SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, failures = 0,
                replan = 'resumed', replan_at = clock_timestamp(), next_at = '-infinity'
            WHERE name = $1 AND paused_at IS NOT NULL
            RETURNING id
        )
        SELECT pg_notify('errand_schedules', '')::text FROM resumed
        """

    /// The latest occurrence of each schedule.
    package static let lastOccurrences = """
        SELECT s.id, o.due_at, o.outcome
        FROM errand.schedules s CROSS JOIN LATERAL (
            SELECT due_at, outcome FROM errand.schedule_occurrences o
            WHERE o.schedule_id = s.id ORDER BY due_at DESC LIMIT 1) AS o
        WHERE $1::text IS NULL OR s.name = $1
        """

    /// The outcomes of the occurrences of the schedule $1 before $2, newest first.
    package static let scheduleHistory = """
        (
            SELECT o.due_at, o.due_at AS last_due, 1 AS count, o.decided_at, o.job_id, o.origin,
                CASE WHEN o.outcome = 'enqueued' AND j.id IS NOT NULL
                    THEN errand.live_state(j.claimed_by, j.attempt, j.run_at, now())
                    WHEN o.outcome = 'enqueued' THEN coalesce(f.outcome::text, 'ended')
                    ELSE o.outcome END AS outcome,
                coalesce(o.reason, f.reason) AS reason, o.merged_into,
                coalesce(o.ended_at, f.finished_at) AS ended_at
            FROM errand.schedule_occurrences o
            LEFT JOIN errand.jobs j ON j.id = o.job_id AND o.outcome = 'enqueued'
            LEFT JOIN LATERAL (
                SELECT f.outcome, f.reason, f.finished_at FROM errand.finished_jobs f
                WHERE f.id = o.job_id AND o.outcome = 'enqueued' LIMIT 1) AS f ON true
            WHERE o.schedule_id = $1 AND o.due_at < $2
            ORDER BY o.due_at DESC LIMIT $3
        )
        UNION ALL
        (
            SELECT first_due, last_due, count, noted_at, NULL, 'schedule', 'missed', reason,
                NULL, NULL
            FROM errand.schedule_misses WHERE schedule_id = $1 AND last_due < $2
            ORDER BY last_due DESC LIMIT $3
        )
        ORDER BY last_due DESC LIMIT $3
        """

    /// The occurrences from $2 up to $3 that have or had a job.
    package static let takenOccurrences = """
        SELECT due_at FROM errand.schedule_occurrences
        WHERE schedule_id = $1 AND due_at >= $2 AND due_at < $3
          AND (outcome <> 'skipped' OR merged_into IS NOT NULL)
        """
}
