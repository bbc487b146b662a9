"""Coupon codes: rotated, read, checked and redeemed."""
import base64
import os
import pathlib
import subprocess

from measure import Failed, percentile, run
from report import Figure

PGBENCH = "/usr/lib/postgresql/15/bin/pgbench"
CONNECTIONS = 16
# Warm-up transactions of each connection.
WARM_UP = 200
PEOPLE = """
    INSERT INTO people.people (id, email, birth_date)
    SELECT n, n || '@example.org', '1990-05-17' FROM generate_series(1, 1000) AS n
    """
COUPONS = (
    "ALTER TABLE coupons.coupons SET UNLOGGED",
    "INSERT INTO establishments.establishments (id, name) VALUES (1, 'Corner Bakery')",
    # Skips foreign key checks, which would take longest, for generated data.
    """
    SET session_replication_role = replica;
    INSERT INTO coupons.coupons (person_id, establishment_id, title, valid_from, expires_at)
    SELECT 1 + n % 1000, 1, 'Coupon ' || n, '2026-01-01Z', '2099-01-01Z'
    FROM generate_series(1, {count}) AS n
    """,
)
# The codes of some coupons, as phones show them; they do not rotate meanwhile.
SHOWN = """
    CREATE UNLOGGED TABLE coupons.bench_shown (n bigint PRIMARY KEY, payload text, typed text);
    INSERT INTO coupons.bench_shown
    SELECT n, c.payload, c.typed
    FROM generate_series(1, {count}) AS n CROSS JOIN LATERAL coupons.codes_at(n, now()) c;
    CREATE SEQUENCE coupons.bench_next CACHE 100;
    ANALYZE coupons.bench_shown;
    """
READ = """
\\set n random(1, {count})
SELECT * FROM coupons.code(:n, 1 + :n % 1000);
"""
READ_RAW = """
\\set n random(1, {count})
SELECT * FROM coupons.coupons WHERE id = :n;
"""
VERIFY = """
\\set n random(1, {count})
SELECT v.* FROM coupons.bench_shown s, coupons.verify(s.{way}, 1, 'till') v WHERE s.n = :n;
"""
# Wrong in the last character of the MAC, or in all of it.
GUESS = """
\\set n random(1, {count})
SELECT v.* FROM coupons.bench_shown s,
    coupons.verify({wrong}, 1, 'till ' || :client_id) v WHERE s.n = :n;
"""
NEARLY = """
    left(s.payload, 37) || translate(right(s.payload, 1), '0123456789ABCDEF', '123456789ABCDEF0')
    """
QUITE = "left(s.payload, 18) || 'FFFFFFFFFFFFFFFFFFFF'"
REDEEM = """
SELECT r.* FROM (SELECT nextval('coupons.bench_next') AS n OFFSET 0) i
    JOIN coupons.bench_shown s ON s.n = i.n,
    coupons.redeem(s.payload, 1, 'till ' || :client_id, i.n::text) r;
"""
REDEEM_RAW = """
UPDATE coupons.coupons SET redeemed_at = clock_timestamp()
WHERE id = (SELECT {count} - nextval('coupons.bench_next')) AND redeemed_at IS NULL;
"""


def keys(place):
    """The variables with a file of sealing keys."""
    path = pathlib.Path(place.file("keys"))
    path.write_text("bench " + base64.b64encode(os.urandom(32)).decode() + "\n", encoding="ascii")
    path.chmod(0o600)
    return {"ERRAND_KEYS_FILE": str(path), "ERRAND_LOG": "error"}


def rotate(place, env, database):
    """One rotation as a job; its seconds."""
    sql = place.servers.sql
    job = sql("SELECT errand.enqueue('coupons.rotate')", database)
    run([place.errand, "work", "--drain", "--queues", "coupons"], env)
    state, seconds = sql(
        "SELECT outcome, duration_ms / 1000 FROM errand.finished_jobs "
        f"WHERE id = {job}", database).split("|")
    if state != "completed":
        raise Failed(f"the rotation ended as {state}")
    return float(seconds)


def filled(place, ours, count, period):
    """A database with coupons and codes; its variables."""
    env = {**ours.fresh("bench_codes"), **keys(place)}
    sql = place.servers.sql
    for text in (PEOPLE, *COUPONS):
        sql(text.format(count=count), "bench_codes")
    sql("VACUUM ANALYZE coupons.coupons", "bench_codes")
    sql(f"UPDATE coupons.code_series SET period = '{period}'", "bench_codes")
    rotate(place, env, "bench_codes")
    return env


def turns(place, env):
    """The median seconds of some rotations, each of which creates an epoch of both series."""
    times = []
    for _ in range(place.size(3, 9)):
        place.servers.sql("UPDATE coupons.code_series SET ahead = ahead + 1", "bench_codes")
        times.append(rotate(place, env, "bench_codes"))
    return percentile(times, 0.5)


def load(place, env, script, transactions, rate=None):
    """Runs a pgbench script over many connections; transactions per second, p99, p50 in ms.

    The times are without the first transactions of each connection, which prepare what the others
    find ready.
    """
    path = pathlib.Path(place.file("script.sql"))
    path.write_text(script, encoding="utf-8")
    folder = pathlib.Path(place.file("latencies"))
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    words = [PGBENCH, "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "2", "-f", str(path),
             "-t", str(transactions // CONNECTIONS), "-l", "--log-prefix", str(folder / "log")]
    if rate:
        words += ["-R", str(rate)]
    printed = subprocess.run([*words, env["DATABASE_URL"]], capture_output=True, text=True,
                             check=True).stdout
    lines = [line.split() for log in folder.iterdir()
             for line in log.read_text(encoding="ascii").splitlines()]
    if len(lines) != transactions // CONNECTIONS * CONNECTIONS:
        raise Failed(f"{len(lines)} of {transactions} transactions ended\n{printed}")
    times = [int(line[2]) / 1_000 for line in lines if int(line[1]) >= WARM_UP]
    tps = next(line for line in printed.splitlines() if line.startswith("tps = "))
    return float(tps.split()[2]), percentile(times, 0.99), percentile(times, 0.5)


def codes(place, ours, _peers):
    """Rotation at two sizes; then reading, checking and redeeming at the larger one."""
    sql = place.servers.sql
    few = turns(place, filled(place, ours, 10, "1 hour"))
    count = place.size(200_000, 10_000_000)
    env = filled(place, ours, count, "1 hour")
    many = turns(place, env)
    shown = min(count, 200_000)
    sql(SHOWN.format(count=shown), "bench_codes")
    amount = place.size(16_000, 96_000)
    read = load(place, env, READ.format(count=shown), amount, rate=5_000)
    most = load(place, env, READ.format(count=shown), amount)
    most_raw = load(place, env, READ_RAW.format(count=shown), amount)
    drawn = load(place, env, VERIFY.format(count=shown, way="payload"), amount)
    typed = load(place, env, VERIFY.format(count=shown, way="typed"), amount)
    # The rate limits would answer instead of the lookup.
    sql("UPDATE coupons.guess_limits SET terminal = 2000000000, establishment = 2000000000",
        "bench_codes")
    guesses = [load(place, env, GUESS.format(count=shown, wrong=wrong), amount // 2)
               for wrong in (NEARLY, QUITE)]
    sql("ALTER TABLE coupons.coupons SET LOGGED", "bench_codes")
    place.servers.settle()
    redeemed = load(place, env, REDEEM, amount)
    done = int(sql("SELECT count(*) FROM coupons.redemptions", "bench_codes"))
    if done < amount * 0.98:
        raise Failed(f"{done} of {amount} coupons were redeemed")
    raw = load(place, env, REDEEM_RAW.format(count=count), amount)
    samples = f"{amount:,} of {count:,} coupons, {CONNECTIONS} connections"
    return [
        Figure(f"a rotation with {count:,} live coupons", "ms", many * 1_000, None, None,
               ("max", 50), "median"),
        Figure("a rotation with 10 live coupons", "ms", few * 1_000, None, None, ("max", 50),
               "median"),
        Figure("current codes read at 5,000/s, p99", "ms", read[1], None, None, ("max", 1),
               samples, f"p50 {read[2]:.2f} ms, from when each was due"),
        Figure("current codes, as fast as they are read", "reads/s", most[0], most_raw[0], None,
               ("min", 5_000), samples, "raw limit: the coupon's row by its id"),
        Figure("verify, scanned", "codes/s", drawn[0], most_raw[0], None, ("min", 10_000),
               samples, f"p99 {drawn[1]:.2f} ms"),
        Figure("verify, typed", "codes/s", typed[0], most_raw[0], None, ("min", 10_000), samples,
               f"p99 {typed[1]:.2f} ms"),
        Figure("verify, wrong in the last character, p50", "ms", guesses[0][2], guesses[1][2],
               None, None, samples, "raw limit: wrong in all of them"),
        Figure("redeem", "coupons/s", redeemed[0], raw[0], None, ("min", 3_000), samples,
               f"p99 {redeemed[1]:.2f} ms; raw limit: an update of the coupon's row"),
    ]
