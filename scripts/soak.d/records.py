"""What became of the jobs that a soak has enqueued: read when all have ended."""
import subprocess

from servers import PSQL

PREPARE = """
    CREATE SCHEMA soak;
    CREATE UNLOGGED TABLE soak.sent (id bigint, way text, committed double precision);
"""
# A unique key returns the id of the job that holds it; it counts once.
JOIN = """
    CREATE UNLOGGED TABLE soak.jobs AS
        SELECT id, min(way) AS way, max(committed) AS committed FROM soak.sent GROUP BY id;
    CREATE UNLOGGED TABLE soak.finished AS
        SELECT id, count(*) AS times, max(attempt) AS attempt, max(started_at) AS started_at,
            max(run_at) AS run_at, bool_or(outcome = 'cancelled') AS is_cancelled
        FROM errand.finished_jobs GROUP BY id;
    CREATE UNLOGGED TABLE soak.waits AS
        SELECT j.way, extract(epoch FROM f.started_at) AS started,
            1000 * (extract(epoch FROM f.started_at) - CASE j.way
                WHEN 'delayed' THEN extract(epoch FROM f.run_at) ELSE j.committed END) AS ms
        FROM soak.jobs j JOIN soak.finished f USING (id)
        WHERE f.attempt = 1 AND j.way IN ('transaction', 'short', 'lone', 'ledger', 'delayed');
    ANALYZE soak.waits;
"""
VERDICT = """
    SELECT (SELECT count(*) FROM soak.jobs),
        (SELECT count(*) FROM soak.finished WHERE times > 1),
        (SELECT count(*) FROM soak.jobs j WHERE NOT EXISTS (
            SELECT FROM soak.finished f WHERE f.id = j.id)),
        (SELECT count(*) FROM soak.finished f WHERE NOT EXISTS (
            SELECT FROM soak.jobs j WHERE j.id = f.id)),
        (SELECT count(*) FROM soak.jobs WHERE way = 'ledger'),
        (SELECT count(*) FROM errand.demo_ledger),
        (SELECT count(DISTINCT job_id) FROM errand.demo_ledger),
        (SELECT count(*) FROM soak.jobs j JOIN soak.finished f USING (id)
            WHERE f.is_cancelled AND j.way <> 'cancelled'),
        (SELECT count(*) FROM errand.jobs)
"""
WAITS = """
    SELECT {group}, count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY ms),
        percentile_disc(0.99) WITHIN GROUP (ORDER BY ms), max(ms)
    FROM soak.waits WHERE {condition} GROUP BY 1 ORDER BY 1
"""


class Records:
    """The jobs that were sent, beside those that PostgreSQL has finished."""

    def __init__(self, session, url, files):
        self.session = session
        session.rows(PREPARE)
        for path in files:
            subprocess.run(
                [PSQL, "-Xq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c",
                 f"\\copy soak.sent FROM '{path}'"], check=True)
        session.rows(JOIN)

    def verdict(self):
        """Each check: what it counts, the number, and what that must be (None: only shown)."""
        (sent, twice, never, unknown, ledger, rows, distinct, wrong, left) = (
            int(text) for text in self.session.row(VERDICT))
        return [
            ("jobs enqueued", sent, None),
            ("ids that finished twice", twice, 0),
            ("ids that never finished", never, 0),
            ("ids that nobody enqueued", unknown, 0),
            ("demo.ledger: rows", rows, ledger),
            ("demo.ledger: different jobs", distinct, ledger),
            ("cancelled without being asked for", wrong, 0),
            ("live jobs left", left, 0),
        ]

    def waits(self, condition, group="'all'"):
        """By group: the number of first attempts, and p50, p99 and the longest in milliseconds."""
        return {
            key: (int(count), *map(float, of_waits))
            for key, count, *of_waits in self.session.rows(
                WAITS.format(group=group, condition=condition))}

    def by_interval(self, starts):
        """The same for the intervals that end at these times, by their numbers."""
        bounds = ", ".join(f"{at:.3f}" for at in starts)
        return self.waits("true", f"width_bucket(started::float8, ARRAY[{bounds}]::float8[])")
