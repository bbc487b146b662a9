"""The wall time of each listing, as a whole process, over a long backlog and a long history."""
import os
import statistics
import subprocess
import time

from report import Figure

QUEUES = "ARRAY['default', 'exports', 'mail', 'push', 'reports']"
KIND = "'app.kind_' || ({n} / 7 % 12)"
FILL = (
    "INSERT INTO errand.queues (name) SELECT unnest({queues}) ON CONFLICT DO NOTHING",
    "INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)"
    " SELECT 'app.kind_' || k, 1, 'default', 2, 20 FROM generate_series(0, 11) AS k",
    # In creation order: the oldest have the lowest ids.
    """
    INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at, worker,
        keep_until, outcome, duration_ms, priority, attempt, max_attempts, args_version, queue,
        kind, args)
    SELECT n, at, at, at, at + interval '1 s', 1, current_date + 1 + (8 * n / {finished})::int,
        (CASE WHEN n % 50 = 0 THEN 'cancelled' ELSE 'completed' END)::errand.job_outcome,
        20, 2, 1, 20, 1, ({queues})[1 + n % 5], {kind}, jsonb_build_object('person_id', n % 100000)
    FROM (SELECT n, now() - make_interval(secs => ({finished} - n) / 100.0) AS at
          FROM generate_series(1, {finished}) AS n) AS made
    """,
    """
    INSERT INTO errand.finished_jobs (id, created_at, run_at, started_at, finished_at, worker,
        keep_until, outcome, duration_ms, priority, attempt, max_attempts, args_version, queue,
        kind, args, errors)
    SELECT {finished} + n, at, at, at, at, 1, 'infinity', 'dead', 20, 2, 20, 20, 1,
        ({queues})[1 + n % 5], {kind}, '{{}}', jsonb_build_array(jsonb_build_object('attempt', 20,
            'at', at, 'error', 'fault ' || chr(65 + n % 20) || ': no answer after ' || n || ' ms'))
    FROM (SELECT n, now() - make_interval(secs => ({dead} - n) / 5.0) AS at
          FROM generate_series(1, {dead}) AS n) AS made
    """,
    # Of ten jobs, seven are due, two are scheduled, one is retrying.
    """
    INSERT INTO errand.jobs (id, created_at, run_at, attempt, priority, queue, kind, args, errors)
    SELECT {finished} + {dead} + n, now() - interval '1 s' * (({waiting} - n) / 500.0),
        CASE WHEN n % 10 IN (3, 6) THEN now() + interval '1 hour' * (n % 48 + 1)
            WHEN n % 10 = 8 THEN now() + interval '1 s' * (n % 900)
            ELSE now() - interval '1 s' * (({waiting} - n) / 500.0) END,
        CASE WHEN n % 10 = 8 THEN 2 ELSE 0 END, CASE WHEN n % 100 = 0 THEN 0 ELSE 2 END,
        ({queues})[1 + (n / 3) % 5], {kind}, jsonb_build_object('person_id', n % 100000),
        CASE WHEN n % 10 = 8 THEN jsonb_build_array(jsonb_build_object('attempt', 2,
            'at', now(), 'error', 'timeout after ' || n || ' ms')) END
    FROM generate_series(1, {waiting}) AS n
    """,
    "SELECT setval('errand.jobs_id_seq', {finished} + {dead} + {waiting})",
    # Alive for the duration of the benchmark, with claims of its own.
    """
    INSERT INTO errand.workers (host, pid, version, last_seen_at, lease_seconds, queues, kinds)
    SELECT 'bench', n, '0', now() + interval '1 day', 20, (SELECT jsonb_object_agg(q,
            '{{"concurrency": 10, "weight": 1, "busy": 4, "waiting": 0, "rate": 20}}'::jsonb)
        FROM unnest({queues}) AS q), (SELECT array_agg('app.kind_' || k || '@1')
        FROM generate_series(0, 11) AS k) FROM generate_series(1, 4) AS n
    """,
    """
    UPDATE errand.jobs SET claimed_by = 1 + id % 4, claim_token = 1, claimed_at = now(),
        attempt = 1
    WHERE id IN (SELECT id FROM errand.jobs WHERE run_at < now() AND attempt = 0
        ORDER BY id LIMIT 200)
    """,
    # As workers write it, and, beyond an hour, as the leader aggregates it.
    """
    INSERT INTO errand.activity (minute, worker, started, completed, retried, dead, queue, kind,
        wait_buckets, wait_counts, run_buckets, run_counts)
    SELECT minute, worker, 100, 98, 2, 0, q, 'app.kind_' || k,
        '{{20,21,22,23,24,25,26,30,34,40}}', '{{1,5,20,30,20,10,8,3,2,1}}',
        '{{24,25,26,27,28,29,30,32}}', '{{5,15,30,20,15,10,4,1}}'
    FROM (SELECT minute, worker FROM generate_series(date_trunc('minute', now())
            - interval '80 min', now(), interval '1 min') AS minute, generate_series(1, 4) AS worker
        UNION ALL
        SELECT minute, 0 FROM generate_series(date_trunc('minute', now()) - interval '24 hours',
            now() - interval '80 min', interval '10 min') AS minute) AS row,
        unnest({queues}) AS q, generate_series(0, 3) AS k
    """,
    """
    INSERT INTO errand.schedules (name, recurrence, kind, next_at, next_due, replan)
    SELECT 'schedule-' || n, '0 4 * * *', 'app.kind_' || n % 12, now() + interval '1 day',
        now() + interval '1 day', NULL FROM generate_series(1, 200) AS n
    """,
    "INSERT INTO errand.audit (operator, action, subject)"
    " SELECT 'bench', 'job retry', 'job ' || n FROM generate_series(1, 100000) AS n",
    "INSERT INTO errand.operations (action, operator, filter, total, state)"
    " SELECT 'dead redrive', 'bench', '{{}}', 5, 'done' FROM generate_series(1, 5000) AS n",
    "VACUUM ANALYZE",
)
LISTINGS = """
status | status --check | queue ls | queue show mail | kind ls | kind ls --since 24h
kind show app.kind_3 | worker ls | schedule ls | op ls | audit ls
dead ls | dead group | dead ls --kind app.kind_3 | dead ls --error timeout
job ls | job ls --queue mail | job ls --kind app.kind_3 | job ls --kind app.none
job ls --state available | job ls --state scheduled | job ls --state retrying
job ls --state running | job ls --state completed | job ls --state cancelled | job ls --state dead
job ls --queue mail --state retrying | job ls --worker 3 | job ls --tag none | job ls --key none
job ls --older 1h | job ls --newer 1m | job ls --error timeout | job ls --error '~ ^nothing'
job ls --arg person_id=42 | job ls --arg person_id=-1 | job ls --limit 1000
job ls --cursor 500000 | job ls --order oldest | job ls --order oldest --arg person_id=-1
job ls --older 30h | job ls --queue mail --error nothing --newer 2h | job ls --schedule none
"""


def fill(sql, waiting, finished, dead):
    """Fills an empty, migrated database; `sql` runs one statement."""
    for text in FILL:
        names = {"waiting": waiting, "finished": finished, "dead": dead, "queues": QUEUES,
                 "kind": KIND.format(n="n")}
        sql(text.format(**names))


def times(errand, env, rounds):
    """Milliseconds of each listing: (words, the median, exit code)."""
    for line in LISTINGS.replace("\n", "|").split("|"):
        if not line.strip():
            continue
        words = [word.strip("'") for word in line.replace("'~ ", "'~").split()]
        taken, code = [], 0
        for _ in range(rounds + 1):
            start = time.monotonic()
            code = subprocess.run(
                [errand, *words], env={**os.environ, **env}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode
            taken.append((time.monotonic() - start) * 1e3)
        # The first run reads cold pages.
        yield line.strip(), statistics.median(taken[1:]), code


def listings(place, ours, peers):
    """The wall time of each listing command."""
    waiting, finished = place.size(300_000, 5_000_000), place.size(1_000_000, 20_000_000)
    env = ours.fresh("bench_listings")
    fill(lambda text: place.servers.sql(text, "bench_listings"), waiting, finished, 100_000)
    samples = f"5, {waiting:,} waiting, {finished:,} finished"
    figures = []
    for name, taken, code in times(place.errand, env, 5):
        aim = ("max", 100 if name == "status" else 200)
        note = "" if code in (0, 10, 11) else f"exit {code}"
        figures.append(Figure(name, "ms", taken, None, None, aim, samples, note))
    return figures
