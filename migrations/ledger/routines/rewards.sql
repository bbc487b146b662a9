-- Rewards of people: crediting them, and reading balances.

-- Raises an error unless a reward may have these values.
CREATE OR REPLACE FUNCTION ledger.expect_reward(
    source text, establishment bigint, paid bigint, cut bigint, at timestamptz, max_reward bigint,
    max_age interval
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (cut > 0 AND cut <= paid AND paid <= max_reward) IS NOT TRUE THEN
        RAISE EXCEPTION 'expected paid and cut in minor units, 0 < cut <= paid <= %; found % and %',
            coalesce(max_reward::text, 'ledger.pay_rules.max_reward'),
            coalesce(paid::text, 'null'), coalesce(cut::text, 'null')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'See ledger.pay_rules.max_reward.';
    END IF;
    -- A number has no leading zeros.
    IF (length(source) <= 100 AND source ~ '^[a-z][a-z_]*(:[a-z0-9_-]+)+$'
        AND source !~ ':0[0-9]+(:|$)') IS NOT TRUE THEN
        RAISE EXCEPTION 'source %: expected the origin of the reward, such as survey:12, in up to '
            '100 of a-z, 0-9, _, - and colons, and numbers without leading zeros',
            coalesce(quote_literal(left(source, 100)), 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF at > clock_timestamp() + interval '1 minute' THEN
        RAISE EXCEPTION 'at %: the time of a reward must not be in the future', at
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF at < clock_timestamp() - max_age THEN
        RAISE EXCEPTION 'at %: the reward is older than %', at, max_age
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'ledger.pay_rules.max_reward_age is how old a reward may be.';
    END IF;
    IF establishment IS NULL AND paid <> cut THEN
        RAISE EXCEPTION 'the company pays no commission to itself: without an establishment, '
            'paid and cut must be equal, found % and %', paid, cut
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Credits a reward whose values and person the caller has checked.
--   payee, payer, share  the accounts of the person, of who pays, and of the commission; null where
--                        there is none yet
CREATE OR REPLACE FUNCTION ledger.credit_checked(
    person bigint, source text, establishment bigint, paid bigint, cut bigint, currency text,
    at timestamptz, payee bigint, payer bigint, share bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF payee IS NULL OR payer IS NULL OR share IS NULL THEN
        payee := coalesce(payee, ledger.account('person', person, currency));
        payer := coalesce(payer, ledger.account(
            CASE WHEN establishment IS NULL THEN 'company' ELSE 'establishment' END,
            coalesce(establishment, 0), currency));
        share := coalesce(share, ledger.account('commission', 0, currency));
    END IF;
    RETURN ledger.post('reward:' || person || ':' || source, 'reward',
        CASE WHEN cut < paid THEN ARRAY[payer, payee, share] ELSE ARRAY[payer, payee] END,
        CASE WHEN cut < paid THEN ARRAY[-paid, cut, paid - cut] ELSE ARRAY[-paid, cut] END,
        at, source);
END $$;

CREATE OR REPLACE FUNCTION ledger.credit_reward(
    person bigint, source text, establishment bigint, paid bigint, cut bigint,
    currency text DEFAULT 'CAD', at timestamptz DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    payee bigint; payer bigint; share bigint;
    is_clear boolean;
    max_reward bigint;
    max_age interval;
    payer_kind CONSTANT text := CASE WHEN establishment IS NULL THEN 'company'
        ELSE 'establishment' END;
BEGIN
    -- An existing account proves that its owner exists.
    SELECT
        (SELECT a.id FROM ledger.accounts a
            WHERE a.owner = person AND a.kind = 'person' AND a.currency = currency),
        (SELECT a.id FROM ledger.accounts a WHERE a.owner = coalesce(establishment, 0)
            AND a.kind = payer_kind AND a.currency = currency),
        (SELECT a.id FROM ledger.accounts a
            WHERE a.owner = 0 AND a.kind = 'commission' AND a.currency = currency),
        (SELECT people.is_clear(p) FROM people.people p WHERE p.id = person),
        r.max_reward, r.max_reward_age
    INTO payee, payer, share, is_clear, max_reward, max_age
    FROM ledger.pay_rules r;
    -- PL/pgSQL prepares every expression again in each transaction: one says that all is in order.
    IF (cut > 0 AND cut <= paid AND paid <= max_reward AND length(source) <= 100
        AND source ~ '^[a-z][a-z_]*(:[a-z0-9_-]+)+$' AND source !~ ':0[0-9]+(:|$)'
        AND coalesce(at BETWEEN clock_timestamp() - max_age
            AND clock_timestamp() + interval '1 minute', true)
        AND (establishment IS NOT NULL OR paid = cut) AND is_clear) IS NOT TRUE THEN
        PERFORM ledger.expect_reward(source, establishment, paid, cut, at, max_reward, max_age);
        -- A reward that is known is answered as the first time, whatever became of the person.
        IF is_clear IS NOT TRUE
            AND NOT EXISTS (SELECT FROM ledger.transactions t
                WHERE t.key = 'reward:' || person || ':' || source) THEN
            PERFORM people.expect_of_age(person);
        END IF;
    END IF;
    RETURN ledger.credit_checked(
        person, source, establishment, paid, cut, currency, at, payee, payer, share);
END $$;
COMMENT ON FUNCTION ledger.credit_reward(
    bigint, text, bigint, bigint, bigint, text, timestamptz) IS $doc$
Credits a reward for a survey or mission, in the transaction of the caller. A person is credited
once for a source. The establishment owes what it pays; the rest behind the person's share is the
company's commission. Credit thousands of people in batches of hundreds: a balance that one
transaction updates very often gets slow.

Arguments:
  person: who earned it; 16 years old at least
  source: the origin, such as survey:12 or mission:7: a kind of a-z and _, and one or more ids of
    a-z, 0-9, _ and -, each behind a colon. It has one spelling: no capitals and no leading zeros
  establishment: who pays; null for the company itself, which requires paid = cut
  paid: what the establishment pays, in minor units, at most ledger.pay_rules.max_reward
  cut: the person's share of it, in minor units
  currency: the currency of both
  at: when it was earned, at most ledger.pay_rules.max_reward_age ago; null for now
Returns:
  credit_reward: the id of the ledger's transaction
Reasons:
  under_age: the person is under 16
  no_birth_date: the person's birth date is not known
  blocked: the person's erasure was requested, or they were erased
Errors:
  22023: an amount, the source or the time is out of range; the text names it
  23503: no such person or establishment
  23505: the source is known with other content
Repeated: answers the same id and credits nothing, also when the person was blocked since.
Sample:
  SELECT ledger.credit_reward(person => 17, source => 'survey:12', establishment => 7,
      paid => 500, cut => 300);
$doc$;

-- The current balance of an account.
CREATE OR REPLACE FUNCTION ledger.balance(account bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(sum(b.amount), 0)::bigint FROM ledger.balances b
        WHERE b.account_id = account);
END $$;

-- The balance of an account from transactions before an instant, such as the end of a quarter.
CREATE OR REPLACE FUNCTION ledger.balance_at(account bigint, instant timestamptz)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    first CONSTANT timestamptz := (
        SELECT p.at FROM ledger.postings p WHERE p.account_id = account ORDER BY p.at LIMIT 1);
    last CONSTANT timestamptz := (
        SELECT p.at FROM ledger.postings p WHERE p.account_id = account
        ORDER BY p.at DESC LIMIT 1);
BEGIN
    IF instant IS NULL THEN
        RETURN NULL;
    END IF;
    IF first IS NULL OR instant <= first THEN
        RETURN 0;
    END IF;
    IF instant > last THEN
        RETURN ledger.balance(account);
    END IF;
    -- Sum from the nearer end: shared accounts have millions of lines.
    IF instant - first < last - instant THEN
        RETURN (SELECT sum(p.amount) FROM ledger.postings p
            WHERE p.account_id = account AND p.at < instant);
    END IF;
    RETURN ledger.balance(account) - (SELECT sum(p.amount) FROM ledger.postings p
        WHERE p.account_id = account AND p.at >= instant);
END $$;

CREATE OR REPLACE FUNCTION ledger.reward_balance(person bigint)
RETURNS TABLE (currency text, amount bigint) LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- PL/pgSQL caches the plan.
    RETURN QUERY SELECT a.currency, coalesce(b.amount, 0)
    FROM ledger.accounts a LEFT JOIN ledger.balances b ON b.account_id = a.id AND b.slice = 0
    WHERE a.owner = person AND a.kind = 'person' ORDER BY a.currency;
END $$;
COMMENT ON FUNCTION ledger.reward_balance(bigint) IS $doc$
Reads the balances of a person, one row per currency; no row before the first reward. A held payout
is part of the balance, one that waits for the bank is not: the standing of payouts shows both.

Arguments:
  person: the person
Returns:
  currency: the currency
  amount: the balance in minor units; negative if a reward was reversed after it was paid out
Repeated: Reads only.
Sample:
  SELECT currency, amount FROM ledger.reward_balance(person => 17);
$doc$;

CREATE OR REPLACE FUNCTION ledger.reward_lines(
    person bigint, currency text DEFAULT 'CAD', before_at timestamptz DEFAULT 'infinity',
    before_id bigint DEFAULT 9223372036854775807, max_rows int DEFAULT 50
) RETURNS TABLE (transaction_id bigint, at timestamptz, kind text, source text, amount bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT t.id, p.at, t.kind, t.source, p.amount
    FROM ledger.postings p JOIN ledger.transactions t ON t.id = p.transaction_id
    WHERE p.account_id = (SELECT a.id FROM ledger.accounts a
        WHERE a.owner = person AND a.kind = 'person' AND a.currency = $2)
      AND (p.at, p.transaction_id) < (before_at, before_id)
    ORDER BY p.at DESC, p.transaction_id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION ledger.reward_lines(bigint, text, timestamptz, bigint, int) IS $doc$
Lists what moved the balance of a person in a currency, newest first. For the next page, pass at and
transaction_id of the last line.

Arguments:
  person: the person
  currency: the currency
  before_at: at of the last line of the page before
  before_id: transaction_id of the last line of the page before
  max_rows: how many at most, up to 1000
Returns:
  transaction_id: the ledger's transaction
  at: when it was earned or paid
  kind: such as reward, reversal, payout or payout_back
  source: the origin, such as survey:12
  amount: in minor units; negative if it reduces the balance
Repeated: Reads only.
Sample:
  SELECT at, kind, source, amount FROM ledger.reward_lines(person => 17, max_rows => 20);
$doc$;
