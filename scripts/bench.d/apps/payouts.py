"""A quarter: closed in chunks and issued, with few and with many people."""
import base64
import json
import os
import pathlib
import subprocess
import tempfile

from measure import Failed, run
from report import Figure

HERE = pathlib.Path(__file__).parent
KEY_NAME = "bench"
QUARTER = "2026-Q3"
PAYER = {
    "company": {"name": "Sondages inc.", "address": ["1 rue Une", "Montreal QC  H2X 1Y4"]},
    "aft": {"CAD": {
        "originator_id": "1234567890", "data_centre": "86900", "direct_clearer": "86901",
        "short_name": "SONDAGES", "long_name": "SONDAGES INC",
        "return_account": {"institution": "003", "transit": "00001", "account": "1000001"}}},
    "nacha": {
        "destination": "121042882", "destination_name": "A BANK", "origin": "1234567890",
        "origin_name": "SONDAGES INC", "company_name": "SONDAGES INC",
        "company_id": "1234567890", "odfi": "121042882"},
}
POSTINGS = 20
# Inserts the resulting rows directly: crediting the rewards one by one takes hours, and is measured
# elsewhere. One in ten lives in the United States; one in twenty has no address, and is held.
SEED = (
    """
    INSERT INTO people.people (id, birth_date, age_verified_at)
    SELECT n, '1990-05-17', now() FROM generate_series(1, {count}) n;
    INSERT INTO payouts.payees (person_id, name, address)
    SELECT n, 'Zoë Tremblay ' || n, ARRAY[n || ', rue Rachel Est', 'Montréal QC  H2W 1E1']
    FROM generate_series(1, {count}) n WHERE n % 20 <> 7;
    INSERT INTO ledger.accounts (owner, kind, currency, is_shared)
    SELECT 0, 'company', c, true FROM unnest('{{CAD,USD}}'::text[]) c;
    INSERT INTO ledger.accounts (owner, kind, currency, is_shared)
    SELECT n, 'person', CASE WHEN n % 10 = 0 THEN 'USD' ELSE 'CAD' END, false
    FROM generate_series(1, {count}) n;
    """,
    """
    ALTER TABLE ledger.transactions DISABLE TRIGGER ALL;
    ALTER TABLE ledger.postings DISABLE TRIGGER ALL;
    ALTER TABLE ledger.balances DISABLE TRIGGER ALL;
    CREATE TABLE ledger.bench_groups AS
    SELECT a.id AS account, a.currency, (a.owner / 1000) AS part FROM ledger.accounts a
    WHERE a.kind = 'person';
    INSERT INTO ledger.transactions (at, kind, source, key, actor)
    SELECT '2026-07-02Z'::timestamptz + g.round * interval '4 days', 'reward',
        g.currency || ':' || g.part, g.currency || ':' || g.part || ':' || g.round, 'bench'
    FROM (SELECT DISTINCT currency, part, round FROM ledger.bench_groups,
        generate_series(0, {postings} - 1) round) g;
    INSERT INTO ledger.postings (transaction_id, account_id, amount, at)
    SELECT t.id, b.account, 100 + b.account % 400, t.at
    FROM ledger.transactions t
    JOIN ledger.bench_groups b ON t.source = b.currency || ':' || b.part;
    INSERT INTO ledger.postings (transaction_id, account_id, amount, at)
    SELECT p.transaction_id, c.id, -sum(p.amount), max(p.at)
    FROM ledger.postings p
    JOIN ledger.accounts a ON a.id = p.account_id
    JOIN ledger.accounts c ON c.kind = 'company' AND c.currency = a.currency
    GROUP BY 1, 2;
    INSERT INTO ledger.balances (account_id, slice, amount)
    SELECT account_id, 0, sum(amount) FROM ledger.postings GROUP BY 1;
    ALTER TABLE ledger.transactions ENABLE TRIGGER USER;
    ALTER TABLE ledger.postings ENABLE TRIGGER USER;
    ALTER TABLE ledger.balances ENABLE TRIGGER USER;
    ALTER TABLE ledger.transactions ENABLE ALWAYS TRIGGER is_only_added_to;
    ALTER TABLE ledger.postings ENABLE ALWAYS TRIGGER is_only_added_to;
    ALTER TABLE ledger.balances ENABLE ALWAYS TRIGGER is_kept;
    DROP TABLE ledger.bench_groups;
    """,
)


def quarter(place, ours, count):
    """Seconds and peak memory of a close and of an issue, checked to the cent."""
    name = "bench_payouts"
    env = ours.fresh(name)
    key = os.urandom(32)
    files = {"ERRAND_KEYS_FILE": place.file("keys"), "ERRAND_PAYOUTS_FILE": place.file("payer")}
    for path, text in ((files["ERRAND_KEYS_FILE"],
                        f"{KEY_NAME} {base64.b64encode(key).decode()}\n"),
                       (files["ERRAND_PAYOUTS_FILE"], json.dumps(PAYER))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
    env = {**env, **files, "ERRAND_LOG": "error", "ERRAND_OPERATOR": "bench"}
    sql = place.servers.sql
    for text in SEED:
        sql(text.format(count=count, postings=POSTINGS), name)
    accounts = place.file("accounts")
    with open(accounts, "wb") as file:
        subprocess.run(
            ["/usr/bin/python3", HERE / "bank_details.py", str(count), KEY_NAME, key.hex()],
            check=True, stdout=file)
    sql(f"\\copy payouts.bank_details (person_id, country, hint, sealed) FROM '{accounts}'", name)
    sql("UPDATE payouts.rules SET allows_same = true", name)
    sql("VACUUM ANALYZE", name)
    place.servers.settle()

    def errand(*words):
        return run([place.errand, *words], env, limit=1_200)[1]

    errand("payout", "preview", QUARTER)
    errand("payout", "close", QUARTER, "--yes")
    closed = errand("work", "--queues", "payouts:2", "--drain")
    errand("payout", "approve", QUARTER, "--yes")
    with tempfile.TemporaryDirectory(dir=place.folder.name) as folder:
        issued = errand("payout", "issue", QUARTER, "--to", folder, "--yes")
    errand("payout", "prove")
    paid = int(sql("SELECT sum(payouts) FROM payouts.files", name))
    if paid != count - count // 20:
        raise Failed(f"{paid} of {count} people are in files")
    return closed, issued


def payouts(place, ours, _peers):
    """The same quarter with few people and with many."""
    few, many = 10_000, place.size(100_000, 1_000_000)
    small = quarter(place, ours, few)
    large = quarter(place, ours, many)
    samples = f"{many:,} people with {POSTINGS * many:,} postings"
    figures = []
    for index, (what, limit) in enumerate((("close", 90), ("issue", 60))):
        one, other = small[index], large[index]
        figures.append(Figure(
            f"{what} of a quarter", "s", other.wall, None, None,
            ("max", limit * many / 1_000_000), samples,
            f"each person {other.wall / many * 1e6:.0f} µs; with {few:,} people "
            f"{one.wall / few * 1e6:.0f} µs"))
        figures.append(Figure(
            f"memory of the {what}", "MiB", other.peak / 2**20, None, None, ("max", 300), samples))
    return figures
