"""The ledger: rewards credited and balances read, compared with minimal tables."""
from codes import CONNECTIONS, load
from measure import Failed
from report import Figure

PEOPLE = """
    INSERT INTO people.people (id, birth_date)
    SELECT n, '1990-05-17' FROM generate_series(1, {count}) n;
    INSERT INTO establishments.establishments (id, name)
    SELECT n, 'Shop ' || n FROM generate_series(1, 100) n;
    """
# Each person has an account and a line before the measurement. Many transactions, because a row
# that changes thousands of times in one transaction gets slow.
FIRST = """
    DO $$ BEGIN
        FOR n IN 1..{count} LOOP
            PERFORM ledger.credit_reward(n, 'survey:0', 1 + n % 100, 500, 300);
            IF n % 100 = 0 THEN COMMIT; END IF;
        END LOOP;
    END $$
    """
CREDIT = """
\\set person random(1, {count})
\\set shop random(1, 100)
\\set survey random(1, 1000000000000)
SELECT ledger.credit_reward(:person, 'survey:' || :survey, :shop, 500, 300);
"""
# Two rows and a balance: the minimum that a ledger writes, without checks.
RAW = (
    "CREATE TABLE ledger.bench_lines (transaction bigint, account bigint, amount bigint, "
    "at timestamptz, PRIMARY KEY (transaction, account))",
    "CREATE TABLE ledger.bench_balances (account bigint PRIMARY KEY, amount bigint) "
    "WITH (fillfactor = 50)",
    "INSERT INTO ledger.bench_balances SELECT n, 0 FROM generate_series(1, {count}) n",
)
CREDIT_RAW = """
\\set person random(1, {count})
\\set survey random(1, 1000000000000)
BEGIN;
INSERT INTO ledger.bench_lines VALUES (:survey, :person, 300, now()), (:survey, 0, -300, now());
UPDATE ledger.bench_balances SET amount = amount + 300 WHERE account = :person;
COMMIT;
"""
READ = """
\\set person random(1, {count})
SELECT * FROM ledger.reward_balance(:person);
"""
READ_RAW = """
\\set person random(1, {count})
SELECT amount FROM ledger.bench_balances WHERE account = :person;
"""
READ_SHARED = """
SELECT ledger.balance(a.id) FROM ledger.accounts a
WHERE a.owner = 0 AND a.kind = 'commission' AND a.currency = 'CAD';
"""
WHOLE = """
    SELECT (SELECT sum(amount) FROM ledger.balances) = 0
        AND NOT EXISTS (
            SELECT FROM ledger.accounts a WHERE ledger.balance(a.id) <> (
                SELECT sum(amount) FROM ledger.postings p WHERE p.account_id = a.id))
    """


def ledger(place, ours, _peers):
    """Rewards over many connections, then balances without concurrent writes."""
    env = ours.fresh("bench_ledger")
    sql = place.servers.sql
    count = place.size(10_000, 100_000)
    for text in (PEOPLE, FIRST, *RAW):
        sql(text.format(count=count), "bench_ledger")
    sql("VACUUM ANALYZE", "bench_ledger")
    place.servers.settle()
    amount = place.size(16_000, 96_000)
    credited = load(place, env, CREDIT.format(count=count), amount)
    raw = load(place, env, CREDIT_RAW.format(count=count), amount)
    if sql(WHOLE, "bench_ledger") != "t":
        raise Failed("balances do not match the postings")
    read = load(place, env, READ.format(count=count), amount, rate=5_000)
    read_raw = load(place, env, READ_RAW.format(count=count), amount, rate=5_000)
    shared = load(place, env, READ_SHARED, amount, rate=5_000)
    samples = f"{amount:,} of {count:,} people, {CONNECTIONS} connections"
    return [
        Figure("rewards credited", "rewards/s", credited[0], raw[0], None, ("min", 5_000),
               samples, f"p99 {credited[1]:.2f} ms; raw limit: two rows and an update"),
        Figure("a person's balance at 5,000/s, p99", "ms", read[1], read_raw[1], None,
               ("max", 1), samples, f"p50 {read[2]:.2f} ms; raw limit: the row by its id"),
        Figure("a shared balance at 5,000/s, p99", "ms", shared[1], read_raw[1], None, ("max", 1),
               samples, f"p50 {shared[2]:.2f} ms"),
    ]
