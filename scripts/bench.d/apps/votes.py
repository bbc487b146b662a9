"""Votes: casting, closing and publishing a large one, and many that end at the same second."""
import time

from codes import CONNECTIONS, keys, load
from measure import Failed, Running, run
from report import Figure

PEOPLE = """
    INSERT INTO people.people (id) SELECT * FROM generate_series(1, {count} + 1);
    INSERT INTO notification.devices (person_id, app, platform, environment, topic, token)
    SELECT n, 'vote', 'fcm', 'production', '', 'token-' || n FROM generate_series(1, {count}) n;
    UPDATE votes.rules SET keys_ahead = {keys};
    SELECT errand.enqueue('votes.keys');
    """
# All have joined; joining is not measured.
OPEN = """
    SELECT votes.open('Who leads?', '{{Ann,Bob,Cy}}', {initiator},
        clock_timestamp() + interval '1 day', expected => {count});
    INSERT INTO votes.participants (vote_id, person_id, joined_on, name, name_key)
    SELECT max(v.id), n, current_date, 'Person ' || n, 'person ' || n
    FROM votes.votes v, generate_series(1, {count}) n GROUP BY n;
    CREATE SEQUENCE IF NOT EXISTS public.bench_next CACHE 100;
    """
CAST = """
SELECT c.is_accepted FROM (SELECT nextval('public.bench_next') AS n OFFSET 0) i,
    votes.cast(1, i.n, ARRAY[(1 + i.n % 3)::int]) c;
"""
RAW = (
    "CREATE TABLE public.bench_people (id bigint PRIMARY KEY, has_cast boolean) "
    "WITH (fillfactor = 80)",
    "CREATE TABLE public.bench_casts (id bigint PRIMARY KEY, sealed bytea)",
    "CREATE SEQUENCE public.bench_raw CACHE 100",
    "INSERT INTO public.bench_people SELECT n, false FROM generate_series(1, {count}) n",
)
CAST_RAW = """
SELECT nextval('public.bench_raw') AS n \\gset
BEGIN;
UPDATE public.bench_people SET has_cast = true WHERE id = :n;
INSERT INTO public.bench_casts VALUES (:n, decode(repeat('ab', 96), 'hex'));
COMMIT;
"""
# The remaining voters.
REST = """
    DO $$ BEGIN
        FOR n IN {first}..{count} LOOP
            PERFORM votes.cast(1, n, ARRAY[1 + n % 3]);
            IF n % 100 = 0 THEN COMMIT; END IF;
        END LOOP;
    END $$
    """
MANY = """
    DO $$ BEGIN
        FOR n IN 1..{count} LOOP
            PERFORM votes.open('Vote ' || n, '{{Ann,Bob}}', 1,
                date_trunc('second', clock_timestamp()) + interval '1 hour');
            IF n % 100 = 0 THEN COMMIT; END IF;
        END LOOP;
    END $$
    """
TOGETHER = """
    UPDATE votes.votes SET closes_at = {at} WHERE state = 'open';
    UPDATE errand.jobs SET run_at = {at} WHERE kind = 'votes.close';
    """


def worker(place, env, *words):
    return Running([place.errand, "work", "--queues", "votes:8", *words], env)


def until(place, statement, database, limit=300):
    """Waits until a statement answers t."""
    end = time.monotonic() + limit
    while place.servers.sql(statement, database) != "t":
        if time.monotonic() > end:
            raise Failed(f"not within {limit} s: {statement}")
        time.sleep(0.1)


def large(place, ours):
    """Ballots of one vote, then its closing by the last ballot, count and publication."""
    name, sql = "bench_votes", place.servers.sql
    env = {**ours.fresh(name), **keys(place)}
    count = place.size(20_000, 100_000)
    sql(PEOPLE.format(count=count, keys=5), name)
    run([place.errand, "work", "--drain", "--queues", "votes"], env)
    for text in (OPEN, *RAW):
        sql(text.format(count=count, initiator=count + 1), name)
    sql("VACUUM ANALYZE", name)
    place.servers.settle()
    # More than nine tenths, from which on a vote counts as nearly over.
    amount = place.size(19_200, 96_000)
    cast = load(place, env, CAST, amount)
    raw = load(place, env, CAST_RAW, amount)
    first = int(sql("SELECT coalesce(max(person_id), 0) + 1 FROM votes.casts", name))
    # Ids that the cache of a sequence has skipped.
    sql(f"SELECT count(votes.cast(1, person_id, '{{1}}')) FROM votes.participants "
        f"WHERE NOT has_cast AND person_id < {first}", name)
    running = worker(place, env)
    try:
        # The sweep detects that it is nearly over, and prepares the notices.
        until(place, f"SELECT count(*) > {count} FROM notification.notices", name)
        ahead = sql("SELECT round(extract(epoch FROM max(finished_at - started_at)), 1) "
                    "FROM errand.finished_jobs WHERE kind = 'votes.prepare'", name)
        sql(REST.format(first=first, count=count), name)
        until(place, "SELECT state = 'published' FROM votes.votes WHERE id = 1", name)
    finally:
        running.end()
    took, spread, jobs, ballots = sql(
        "SELECT extract(epoch FROM published_at - closed_at), (SELECT extract(epoch FROM "
        "max(run_at) - min(run_at)) FROM errand.jobs WHERE kind = 'notification.push'), "
        "(SELECT count(*) FROM errand.jobs WHERE kind = 'notification.push'), ballots "
        "FROM votes.votes WHERE id = 1", name).split("|")
    if int(jobs) != count or int(ballots) != count:
        raise Failed(f"{ballots} ballots and {jobs} releases of {count}")
    samples = f"{count:,} ballots"
    return [
        Figure("ballots cast", "casts/s", cast[0], raw[0], None, ("min", 5_000),
               f"{amount:,}, {CONNECTIONS} connections",
               f"p99 {cast[1]:.2f} ms; raw limit: an update and an insert"),
        Figure("a large vote from its close to its result", "s", float(took), None, None,
               ("max", 5), samples,
               f"counted and released; the notices were prepared before, in {ahead} s"),
        Figure("between the first and the last release", "s", float(spread), None, None,
               ("max", 1), samples),
    ]


def together(place, ours):
    """Many votes that end at the same second."""
    name, sql = "bench_many_votes", place.servers.sql
    env = {**ours.fresh(name), **keys(place)}
    count = place.size(2_000, 10_000)
    sql(PEOPLE.format(count=10, keys=count + 10), name)
    run([place.errand, "work", "--drain", "--queues", "votes"], env)
    sql(MANY.format(count=count), name)
    at = sql("SELECT date_trunc('second', clock_timestamp()) + interval '8 seconds'", name)
    sql(TOGETHER.format(at=f"'{at}'"), name)
    sql("VACUUM ANALYZE", name)
    running = worker(place, env)
    try:
        until(place, "SELECT NOT EXISTS (SELECT FROM votes.votes WHERE state = 'open')", name)
    finally:
        running.end()
    late = float(sql(
        "SELECT extract(epoch FROM max(closed_at) - max(closes_at)) FROM votes.votes", name))
    return Figure("votes of one second, the last closed after", "s", late, None, None,
                  ("max", 10), f"{count:,} votes")


def votes(place, ours, _peers):
    """A large vote, and many small ones."""
    return [*large(place, ours), together(place, ours)]
