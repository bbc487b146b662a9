"""Surveys: receipts scanned, surveys completed, and reminders of many open invitations."""
import time

from codes import CONNECTIONS, keys, load
from measure import Failed, run
from report import Figure

# A key of receipts in the form in which workers open it; the codes are made with it here.
INNER, OUTER = ("decode(repeat('ab', 64), 'hex')", "decode(repeat('cd', 64), 'hex')")
SHOPS = 100
CITY = (
    """
    INSERT INTO people.people (id, email, birth_date, age_verified_at, time_zone)
    SELECT n, 'person' || n || '@example.org', '1990-05-17', now(), 'America/Toronto'
    FROM generate_series(1, {people}) n
    """,
    f"""
    SELECT count(establishments.put_establishment(n, 'Shop ' || n)),
        count(establishments.put_branch(n, n, 'Branch ' || n, -73.5, 45.5)),
        count(surveys.put_survey(id => n, establishment => n, title => 'How was it?',
            minutes => 2, expires_days => 14, paid => 500, cut => 300, currency => 'CAD',
            coupon_title => 'A free coffee', coupon_days => 30, questions => '[
                {{"number": 1, "kind": "rating", "label": "Service", "is_required": true}},
                {{"number": 2, "kind": "rating", "label": "Food", "is_required": true}},
                {{"number": 3, "kind": "choice", "label": "Why?", "is_required": true,
                    "options": ["near", "good", "cheap"]}},
                {{"number": 4, "kind": "many", "label": "What?", "is_required": false,
                    "options": ["coffee", "cake", "lunch"]}},
                {{"number": 5, "kind": "yes_no", "label": "Again?", "is_required": true}},
                {{"number": 6, "kind": "text", "label": "What else?", "is_required": false}}]')),
        count(surveys.put_key(n, 1, 'none', {INNER}, {OUTER}))
    FROM generate_series(1, {SHOPS}) n
    """,
    "UPDATE surveys.rules SET scans_a_day = 1000, scans_of_branch = 1000",
)
# Each person has an account, and has done a survey, before the measurement.
FIRST = f"""
    SELECT count(ledger.account('person', n, 'CAD')), count(badges.count_deed(
        n, 'survey_done', 1 + n % {SHOPS}))
    FROM generate_series(1, {{people}}) n
    """
# As if receipts had been scanned.
INVITED = f"""
    INSERT INTO surveys.invitations (survey_id, version, establishment_id, branch_id, person_id,
        source, request_id, purchased_at, invited_at, expires_at)
    SELECT s, 1, s, s, 1 + n % {{people}}, 'receipt', 'q' || n, now(), now(), {{expires}}
    FROM generate_series(1, {{count}}) n, LATERAL (SELECT 1 + n / 7 % {SHOPS} AS s) x
    """
RECEIPTS = f"""
    CREATE UNLOGGED TABLE public.bench_receipts (n bigint PRIMARY KEY, code text);
    INSERT INTO public.bench_receipts
    SELECT n, m || '.' || upper(encode(substr(
        coupons.mac({INNER}, {OUTER}, m::bytea), 1, 10), 'hex'))
    FROM generate_series(1, {{count}}) n, LATERAL (
        SELECT format('ER1.%1$s.%1$s.A-%2$s.%3$s', 1 + n % {SHOPS}, n,
            extract(epoch FROM now())::bigint - 100) AS m) x;
    CREATE SEQUENCE public.bench_scan CACHE 100;
    CREATE SEQUENCE public.bench_next CACHE 100;
    """
SCAN = """
SELECT c.reason FROM (SELECT nextval('public.bench_scan') AS n OFFSET 0) i
    JOIN public.bench_receipts r ON r.n = i.n,
    surveys.scan(1 + i.n % {people}, r.code, 's' || i.n) c;
"""
COMPLETE = """
SELECT c.reason FROM (SELECT nextval('public.bench_next') AS n OFFSET 0) i,
    surveys.complete(1 + i.n % {people}, i.n,
        '{{"1": 5, "2": 4, "3": 2, "4": [1, 3], "5": true, "6": "More chairs, please"}}', 95,
        'r' || i.n) c;
"""
# The rows that a completion writes at least: the state of the invitation, answers, two lines and a
# balance, a coupon, and a count; without checks.
RAW = (
    "CREATE TABLE public.raw_invitations (id bigint PRIMARY KEY, is_done boolean) "
    "WITH (fillfactor = 80)",
    "INSERT INTO public.raw_invitations SELECT n, false FROM generate_series(1, {count}) n",
    "CREATE TABLE public.raw_answers (id bigint PRIMARY KEY, person bigint, answers jsonb)",
    "CREATE TABLE public.raw_lines (id bigint, account bigint, amount bigint, "
    "PRIMARY KEY (id, account))",
    "CREATE TABLE public.raw_coupons (id bigint PRIMARY KEY, person bigint, title text)",
    "CREATE TABLE public.raw_people (id bigint PRIMARY KEY, balance bigint, deeds bigint) "
    "WITH (fillfactor = 50)",
    "INSERT INTO public.raw_people SELECT n, 0, 0 FROM generate_series(1, {people}) n",
    "CREATE SEQUENCE public.raw_next CACHE 100",
)
COMPLETE_RAW = """
SELECT nextval('public.raw_next') AS n \\gset
BEGIN;
UPDATE public.raw_invitations SET is_done = true WHERE id = :n;
INSERT INTO public.raw_answers VALUES (:n, :n % {people},
    '{{"1": 5, "2": 4, "3": 2, "4": [1, 3], "5": true, "6": "More chairs, please"}}');
INSERT INTO public.raw_lines VALUES (:n, 1 + :n % {people}, 300), (:n, 0, -300);
INSERT INTO public.raw_coupons VALUES (:n, :n % {people}, 'A free coffee');
UPDATE public.raw_people SET balance = balance + 300, deeds = deeds + 1
WHERE id = 1 + :n % {people};
COMMIT;
"""


def filled(place, ours, name, people):
    env = {**ours.fresh(name), **keys(place)}
    for text in CITY:
        # No format(): the text has JSON.
        place.servers.sql(text.replace("{people}", str(people)), name)
    return env


def reminded(place, ours):
    """The seconds of one job that reminds of many invitations, and their number."""
    count = place.size(100_000, 1_000_000)
    name = "bench_reminders"
    env = filled(place, ours, name, count // 2)
    sql = place.servers.sql
    sql(INVITED.format(people=count // 2, count=count, expires="now() + interval '60 hours'"), name)
    # Where it is about noon, everybody's own time has come today; at night no reminders are sent.
    east = 12 - int(sql("SELECT extract(hour FROM now() AT TIME ZONE 'UTC')::int", name))
    sql(f"UPDATE people.people SET time_zone = 'Etc/GMT{-east:+d}'", name)
    sql("UPDATE people.people SET notice_time = (now() AT TIME ZONE time_zone - "
        "interval '10 minutes')::time", name)
    sql("VACUUM ANALYZE", name)
    place.servers.settle()
    job = sql("SELECT errand.enqueue_own('surveys.remind')", name)
    begun = time.monotonic()
    run([place.errand, "work", "--drain", "--queues", "surveys"], env)
    seconds = time.monotonic() - begun
    outcome = sql(f"SELECT outcome FROM errand.finished_jobs WHERE id = {job}", name)
    reminders = int(sql(
        "SELECT count(*) FROM notification.notices WHERE kind = 'survey.expiring'", name))
    if outcome != "completed" or reminders < count // 4:
        raise Failed(f"the job ended as {outcome} with {reminders} reminders")
    return seconds, count


def surveys(place, ours, _peers):
    """Scans and completions over many connections, then reminders."""
    people = place.size(10_000, 100_000)
    amount = place.size(16_000, 96_000)
    name = "bench_surveys"
    env = filled(place, ours, name, people)
    sql = place.servers.sql
    sql(INVITED.format(
        people=people, count=amount + 2_000, expires="now() + interval '14 days'"), name)
    sql(RECEIPTS.format(count=amount + 2_000), name)
    sql(FIRST.format(people=people), name)
    for text in RAW:
        sql(text.format(count=amount + 2_000, people=people), name)
    sql("VACUUM ANALYZE", name)
    place.servers.settle()
    completed = load(place, env, COMPLETE.format(people=people), amount)
    raw = load(place, env, COMPLETE_RAW.format(people=people), amount)
    scanned = load(place, env, SCAN.format(people=people), amount)
    done, credited, coupons, scans = (
        int(count) for count in sql(
            "SELECT (SELECT count(*) FROM surveys.completions), "
            "(SELECT count(*) FROM ledger.transactions), (SELECT count(*) FROM coupons.coupons), "
            f"(SELECT count(*) FROM surveys.invitations) - {amount + 2_000}", name).split("|"))
    if not (done == credited == coupons >= amount * 0.99) or scans < amount * 0.99:
        raise Failed(f"{done} completions, {credited} rewards, {coupons} coupons, {scans} scans")
    seconds, invitations = reminded(place, ours)
    samples = f"{amount:,} of {people:,} people, {CONNECTIONS} connections"
    return [
        Figure("surveys completed", "completions/s", completed[0], raw[0], None, ("min", 3_000),
               samples, f"p99 {completed[1]:.2f} ms; raw limit: its rows, without checks"),
        Figure("receipts scanned", "scans/s", scanned[0], None, None, ("min", 5_000), samples,
               f"p99 {scanned[1]:.2f} ms"),
        Figure(f"reminders of {invitations:,} invitations", "s", seconds, None, None,
               ("max", 60), f"{invitations:,} invitations of {invitations // 2:,} people"),
    ]
