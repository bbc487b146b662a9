extension Statements {
    /// Moves completed jobs to the history if the fence holds, that is, if their tokens match.
    ///
    /// A `keep_days` of null keeps nothing. The affected rows are the moved jobs; the fence refused
    /// the others.
    package static let complete = """
        WITH ended AS (
            DELETE FROM errand.jobs j
            USING unnest($1::bigint[], $2::bigint[], $3::real[], $4::smallint[])
                AS e (id, token, duration_ms, keep_days)
            WHERE j.id = e.id AND j.claim_token = e.token
            RETURNING j.*, e.duration_ms, e.keep_days
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at,
                worker, keep_until, long_until, outcome, duration_ms, priority, attempt,
                max_attempts, args_version, queue, kind, args, unique_key, tags, options, errors)
            SELECT ended.id, created_at, run_at, claimed_at, now(), claimed_by,
                \(keepUntil("keep_days")), \(longUntil("keep_days")), 'completed', duration_ms,
                priority, attempt, max_attempts, args_version, queue, kind, args, unique_key,
                tags, options, errors
            FROM ended CROSS JOIN errand.instance i WHERE keep_days IS NOT NULL
        )
        SELECT count(*) FROM ended
        """

    /// Finishes cancelled and dead jobs, with the reason.
    ///
    /// A dead letter keeps the error of its last attempt and has no end of retention. A cancelled
    /// job without `keep_days` is not kept.
    package static let giveUp = """
        WITH ended AS (
            DELETE FROM errand.jobs j
            USING unnest($1::bigint[], $2::bigint[], $3::real[], $4::smallint[], $5::text[],
                    $6::text[], $7::text[])
                AS e (id, token, duration_ms, keep_days, outcome, reason, error)
            WHERE j.id = e.id AND j.claim_token = e.token
            RETURNING j.*, e.duration_ms, e.keep_days, e.outcome, e.reason, e.error
        ), kept AS (
            INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at,
                worker, keep_until, long_until, outcome, duration_ms, priority, attempt,
                max_attempts, args_version, queue, kind, reason, args, unique_key, tags, options,
                errors)
            SELECT ended.id, created_at, run_at, claimed_at, now(), claimed_by,
                CASE outcome WHEN 'dead' THEN 'infinity' ELSE \(keepUntil("keep_days")) END,
                CASE WHEN outcome <> 'dead' THEN \(longUntil("keep_days")) END,
                outcome::errand.job_outcome, duration_ms, priority, attempt, max_attempts,
                args_version, queue, kind, reason, args, unique_key, tags, options,
                CASE WHEN error IS NULL THEN errors ELSE errand.with_error(errors,
                    jsonb_build_object('attempt', attempt, 'at', now(), 'worker', claimed_by,
                        'duration_ms', duration_ms, 'error', error)) END
            FROM ended CROSS JOIN errand.instance i
            WHERE outcome = 'dead' OR keep_days IS NOT NULL
        )
        SELECT count(*) FROM ended
        """

    /// Returns jobs to waiting after a failure (with its error), after a snooze, or as requeued.
    ///
    /// A `refund` of 1 does not count the attempt. A null delay keeps the due time, so that the job
    /// is first in its lane again.
    package static let putBack = """
        UPDATE errand.jobs j
        SET claimed_by = NULL, claim_token = NULL, claimed_at = NULL,
            attempt = j.attempt - e.refund,
            run_at = CASE WHEN e.delay_ms IS NULL THEN j.run_at
                ELSE clock_timestamp() + make_interval(secs => e.delay_ms / 1000.0) END,
            errors = CASE WHEN e.error IS NULL THEN j.errors ELSE errand.with_error(j.errors,
                jsonb_build_object('attempt', j.attempt, 'at', clock_timestamp(),
                    'worker', j.claimed_by, 'duration_ms', e.duration_ms,
                    'error', e.error)) END
        FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::text[],
                $6::real[])
            AS e (id, token, refund, delay_ms, error, duration_ms)
        WHERE j.id = e.id AND j.claim_token = e.token
        RETURNING j.id, j.queue, j.kind, j.args_version, j.priority, j.run_at
        """

    /// Records an effect outside the database as done if the claim still holds.
    package static let recordOnce = """
        INSERT INTO errand.once_effects (job_id, key, result)
        SELECT j.id, $3, $4 FROM errand.jobs j WHERE j.id = $1 AND j.claim_token = $2
        ON CONFLICT DO NOTHING
        """

    package static let readOnce =
        "SELECT result FROM errand.once_effects WHERE job_id = $1 AND key = $2"
}
