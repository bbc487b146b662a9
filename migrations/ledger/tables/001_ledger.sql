-- The ledger: double entry. Every amount moves from some accounts to others, what was written is
-- never changed, and every transaction sums to zero in each of its currencies.
--
-- Amounts are in minor units (cents) and signed: above zero they credit an account, below zero
-- they debit it. What is owed to a person is a credit; what an establishment owes is a debit.

CREATE SCHEMA ledger;

-- ISO 4217, the currencies in use in 2026; exponent: decimals of the minor unit.
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

-- Whose id the owner of an account can be. A module adds its own, with the function of its schema
-- that says whether somebody or something of an id is there: (bigint) RETURNS boolean.
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
    -- On which side its balance stands as a rule.
    side text NOT NULL CHECK (side IN ('debit', 'credit')),
    -- Whose id an account's owner is; of kinds of nobody's there is one account a currency.
    owner text COLLATE "C" NOT NULL REFERENCES ledger.owner_kinds,
    -- Everybody posts to these: their balances are kept in slices, so that nobody waits.
    is_shared boolean NOT NULL,
    description text NOT NULL
);
INSERT INTO ledger.account_kinds VALUES
    ('person', 'credit', 'person', false, 'what is owed to a person'),
    ('commission', 'credit', 'nobody', true, 'the company''s share of what establishments pay'),
    ('company', 'debit', 'nobody', true, 'what the company pays for rewards by itself'),
    ('payouts_in_transit', 'credit', 'nobody', true, 'paid out, and not yet confirmed'),
    ('bank', 'debit', 'nobody', true, 'the company''s bank account');

CREATE TABLE ledger.accounts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The id of the person or thing that owns it; 0: nobody.
    owner bigint NOT NULL DEFAULT 0,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text COLLATE "C" NOT NULL REFERENCES ledger.account_kinds,
    currency text COLLATE "C" NOT NULL REFERENCES ledger.currencies,
    is_shared boolean NOT NULL,
    CONSTRAINT accounts_owner UNIQUE (owner, kind, currency)
);

-- Transactions of these kinds are not reversed: the hint says what to do instead.
CREATE TABLE ledger.kept_kinds (kind text COLLATE "C" PRIMARY KEY, hint text NOT NULL);

-- CHECK constraints would be parsed again for every insert, which takes longer than all the rest of
-- it: check_transaction() sees to what they would.
CREATE TABLE ledger.transactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- When it counts from, such as when a reward was earned: in the years 1970 to 9999.
    at timestamptz NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The database's transaction that made it: only that one adds postings.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The transaction that this one undoes.
    reverses bigint REFERENCES ledger.transactions,
    -- 1 to 40 characters, such as reward.
    kind text COLLATE "C" NOT NULL,
    -- By which the same is not done twice: 1 to 200 characters.
    key text COLLATE "C" NOT NULL,
    -- What it is about, such as survey:12: up to 100 characters.
    source text COLLATE "C",
    -- Who made it, an operator or a role of the database: 1 to 200 characters.
    actor text NOT NULL,
    -- No personal data, because a ledger forgets nothing: up to 500 characters.
    note text,
    CONSTRAINT transactions_key UNIQUE (key)
);
CREATE UNIQUE INDEX transactions_reverses ON ledger.transactions (reverses)
    WHERE reverses IS NOT NULL;

-- That its transaction and account are there is seen to by triggers: a foreign key would lock the
-- few accounts that everybody posts to, and nothing here is ever deleted.
CREATE TABLE ledger.postings (
    transaction_id bigint NOT NULL,
    account_id bigint NOT NULL,
    -- Not 0, and up to 10^15: small enough for readers of JSON, whose numbers are exact to 2^53.
    amount bigint NOT NULL,
    -- The transaction's.
    at timestamptz NOT NULL,
    CONSTRAINT postings_one_an_account PRIMARY KEY (transaction_id, account_id)
);
CREATE INDEX postings_account ON ledger.postings (account_id, at, transaction_id) INCLUDE (amount);

-- The present balance of an account: the sum of its row, or of its 64 rows if it is shared. Each
-- backend has one of those, so that writers do not wait for each other's commits.
CREATE TABLE ledger.balances (
    account_id bigint NOT NULL,
    -- Up to 10^17, so that the sum of 64 is a bigint.
    amount bigint NOT NULL,
    slice smallint NOT NULL,
    PRIMARY KEY (account_id, slice)
) WITH (fillfactor = 50);
