"""A quarter: closed by chunks and issued, with few people and with many."""
import json
import os
import tempfile

from measure import Failed, run
from report import Figure

POSTINGS = 20
# Straight into the tables, as so many rewards would have left them: crediting them one by one takes
# hours, and is timed elsewhere. One in ten lives in the United States, one in ten gave no account.
SEED = (
    """
    INSERT INTO notification.people (id, birth_date, age_verified_at)
    SELECT n, '1990-05-17', now() FROM generate_series(1, {count}) n;
    INSERT INTO payouts.payees (person_id, name, address)
    SELECT n, 'Zoë Tremblay ' || n, ARRAY[n || ', rue Rachel Est', 'Montréal QC  H2W 1E1']
    FROM generate_series(1, {count}) n;
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
