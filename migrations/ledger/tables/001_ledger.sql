-- The ledger, in double entry. Every transaction moves amounts between accounts and sums to zero
-- in each of its currencies; it never changes.
--
-- Amounts are signed and in minor units (cents): positive amounts credit an account, negative ones
-- debit it. Amounts owed to people are credits; amounts owed by establishments are debits.

CREATE SCHEMA ledger;

-- The active currencies of ISO 4217 in 2026; exponent: decimals of the minor unit.
CREATE TABLE ledger.currencies (
    code text COLLATE "C" PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$'),
    exponent smallint NOT NULL CHECK (exponent BETWEEN 0 AND 4)
);
INSERT INTO ledger.currencies
SELECT code, exponent
FROM (VALUES
    (0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'),
    (2, 'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD '
        'CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD '
        'GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL '
        'MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN '
        'PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP '
        'SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG'),
    (3, 'BHD IQD JOD KWD LYD OMR TND')
) AS of (exponent, codes), unnest(string_to_array(codes, ' ')) AS code;

-- The kinds of account owners. A module adds its own, with the function of its schema that checks
-- whether an id exists: (bigint) RETURNS boolean.
CREATE TABLE ledger.owner_kinds (
    owner text COLLATE "C" PRIMARY KEY CHECK (owner ~ '^[a-z][a-z_]{0,39}$'),
    check_schema name,
    check_function name,
    CHECK ((check_schema IS NULL) = (check_function IS NULL))
);
INSERT INTO ledger.owner_kinds VALUES
    ('nobody', NULL, NULL), ('person', 'people', 'is_known');

CREATE TABLE ledger.account_kinds (
    kind text COLLATE "C" PRIMARY KEY CHECK (kind ~ '^[a-z][a-z_]{0,39}$'),
    -- The normal side of the balance.
    side text NOT NULL CHECK (side IN ('debit', 'credit')),
    -- The kind of owner; kinds without an owner have one account per currency.
    owner text COLLATE "C" NOT NULL REFERENCES ledger.owner_kinds,
    -- Whether most transactions post to it: the balance then has slices to avoid lock waits.
    is_shared boolean NOT NULL,
    description text NOT NULL
);
INSERT INTO ledger.account_kinds VALUES
    ('person', 'credit', 'person', false, 'amount owed to a person'),
    ('commission', 'credit', 'nobody', true, 'the company''s share of establishments'' payments'),
    ('company', 'debit', 'nobody', true, 'rewards paid by the company itself'),
    ('payouts_in_transit', 'credit', 'nobody', true, 'payouts not yet confirmed'),
    ('bank', 'debit', 'nobody', true, 'the company''s bank account');

CREATE TABLE ledger.accounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The id of the owner; 0: no owner.
    owner bigint NOT NULL DEFAULT 0,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text COLLATE "C" NOT NULL REFERENCES ledger.account_kinds,
    currency text COLLATE "C" NOT NULL REFERENCES ledger.currencies,
    is_shared boolean NOT NULL,
    CONSTRAINT accounts_owner UNIQUE (owner, kind, currency)
);

-- Kinds of transactions that cannot be reversed; the hint is the alternative.
CREATE TABLE ledger.kept_kinds (kind text COLLATE "C" PRIMARY KEY, hint text NOT NULL);

-- check_transaction() replaces CHECK constraints: PostgreSQL would parse these again for every
-- insert, which takes longer than the insert itself.
CREATE TABLE ledger.transactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The effective time, such as the time of a reward; in the years 1970 to 9999.
    at timestamptz NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The database transaction that created it; only that one adds postings.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The transaction that this one reverses.
    reverses bigint REFERENCES ledger.transactions,
    -- 1 to 40 characters, such as reward.
    kind text COLLATE "C" NOT NULL,
    -- The idempotency key: 1 to 200 characters.
    key text COLLATE "C" NOT NULL,
    -- The origin, such as survey:12: up to 100 characters.
    source text COLLATE "C",
    -- The operator or database role that created it: 1 to 200 characters.
    actor text NOT NULL,
    -- No personal data, because the ledger never deletes anything: up to 500 characters.
    note text,
    CONSTRAINT transactions_key UNIQUE (key)
);
CREATE UNIQUE INDEX transactions_reverses ON ledger.transactions (reverses)
    WHERE reverses IS NOT NULL;

-- Triggers check the transaction and account: a foreign key would lock the few shared accounts,
-- and no row is ever deleted.
CREATE TABLE ledger.postings (
    transaction_id bigint NOT NULL,
    account_id bigint NOT NULL,
    -- Not 0, and up to 10^15, because numbers in JSON are exact up to 2^53.
    amount bigint NOT NULL,
    -- The time of the transaction.
    at timestamptz NOT NULL,
    CONSTRAINT postings_one_an_account PRIMARY KEY (transaction_id, account_id)
);
CREATE INDEX postings_account ON ledger.postings (account_id, at, transaction_id) INCLUDE (amount);

-- The current balance of an account: its row, or the sum of its 64 rows if it is shared. A backend
-- writes one of those, so that writers do not wait for each other's commits.
CREATE TABLE ledger.balances (
    account_id bigint NOT NULL,
    -- Up to 10^17, so that the sum of 64 rows fits a bigint.
    amount bigint NOT NULL,
    slice smallint NOT NULL,
    PRIMARY KEY (account_id, slice)
) WITH (fillfactor = 50);
