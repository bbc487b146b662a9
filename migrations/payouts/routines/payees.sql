-- Functions for apps: names, addresses and bank details of people.

CREATE OR REPLACE FUNCTION payouts.set_payee(person bigint, name text, address text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF (name ~ '\S' AND length(name) <= 80 AND name !~ '[[:cntrl:]]') IS NOT TRUE THEN
        RAISE EXCEPTION 'name: expected 1 to 80 characters in one line'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (array_ndims(address) = 1 AND cardinality(address) BETWEEN 1 AND 4) IS NOT TRUE OR EXISTS (
        SELECT FROM unnest(address) AS line
        WHERE (line ~ '\S' AND length(line) <= 40 AND line !~ '[[:cntrl:]]') IS NOT TRUE) THEN
        RAISE EXCEPTION 'address: expected 1 to 4 lines of 1 to 40 characters'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM people.expect_open(person);
    INSERT INTO payouts.payees AS y (person_id, name, address) VALUES (person, name, address)
    ON CONFLICT ON CONSTRAINT payees_pkey DO UPDATE
    SET name = excluded.name, address = excluded.address, updated_at = clock_timestamp();
END $$;
COMMENT ON FUNCTION payouts.set_payee(bigint, text, text[]) IS $doc$
Sets the name and postal address of a person, as they stand on cheques and in bank files. Without
them, payouts are held.

Arguments:
  person: the person
  name: 1 to 80 characters in one line
  address: 1 to 4 lines of 1 to 40 characters, below the name
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: the name or the address is malformed
  23503: no such person
Repeated: sets the same.
Sample:
  SELECT payouts.set_payee(person => 17, name => 'Zoë Roy',
      address => ARRAY['12, rue Rachel Est', 'Montréal QC  H2W 1E1']);
$doc$;

CREATE OR REPLACE FUNCTION payouts.set_bank_details(
    person bigint, country text, sealed bytea, hint text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    IF country IN ('CA', 'US') IS NOT TRUE THEN
        RAISE EXCEPTION 'country: expected CA or US' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (length(sealed) BETWEEN 32 AND 1024 AND get_byte(sealed, 0) = 1) IS NOT TRUE THEN
        -- The error omits the value because unsealed details are plain text.
        RAISE EXCEPTION 'sealed: expected 32 to 1024 bytes sealed in version 1'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (hint ~ '^…[0-9A-Z]{1,4}$') IS NOT TRUE THEN
        RAISE EXCEPTION 'hint: expected an ellipsis and the last 1 to 4 digits of the account'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM people.expect_open(person);
    INSERT INTO payouts.bank_details AS d (person_id, country, sealed, hint)
    VALUES (person, country, sealed, hint)
    ON CONFLICT ON CONSTRAINT bank_details_pkey DO UPDATE
    SET country = excluded.country, sealed = excluded.sealed, hint = excluded.hint,
        given_at = clock_timestamp(), refused_at = NULL, refused_for = NULL;
END $$;
COMMENT ON FUNCTION payouts.set_bank_details(bigint, text, bytea, text) IS $doc$
Sets the bank details of a person, for deposits instead of cheques. The caller seals them: an app's
server that has the key, or `errand payout enter`. The context of the seal is
`payouts.bank_details/` and the person's id. New details end a refusal of the old ones.

Arguments:
  person: the person
  country: CA or US
  sealed: the details as JSON, sealed by AES-256-GCM, 32 to 1024 bytes
  hint: an ellipsis and the last 1 to 4 digits of the account, by which the person recognizes it
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: the country, the seal or the hint is malformed
  23503: no such person
Repeated: sets the same, and ends a refusal again.
Sample:
  SELECT payouts.set_bank_details(person => 17, country => 'CA',
      sealed => '\x01' || decode(repeat('5a', 63), 'hex'), hint => '…678');
$doc$;

CREATE OR REPLACE FUNCTION payouts.forget_bank_details(person bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM payouts.bank_details d WHERE d.person_id = person;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION payouts.forget_bank_details(bigint) IS $doc$
Deletes the bank details of a person, so that cheques are used.

Arguments:
  person: the person
Returns:
  forget_bank_details: whether there were any
Repeated: changes nothing, and answers false.
Sample:
  SELECT payouts.forget_bank_details(person => 17);
$doc$;

CREATE OR REPLACE FUNCTION payouts.of_person(person bigint, max_rows int DEFAULT 50)
RETURNS TABLE (id bigint, quarter text, pay_date date, amount bigint, currency text,
    state payouts.payout_state, method payouts.method, reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT p.id, r.quarter, r.pay_date, p.amount, p.currency, p.state, p.method,
        p.reason
    FROM payouts.payouts p JOIN payouts.runs r ON r.id = p.run_id
    WHERE p.account_id IN (
        SELECT a.id FROM ledger.accounts a WHERE a.owner = person AND a.kind = 'person')
    ORDER BY p.id DESC LIMIT least(greatest(max_rows, 0), 1000);
END $$;
COMMENT ON FUNCTION payouts.of_person(bigint, int) IS $doc$
Lists the payouts of a person, newest first. A held, returned or void payout is still in the
balance; `payouts.standing` adds them up.

Arguments:
  person: the person
  max_rows: how many at most, up to 1000
Returns:
  id: the payout
  quarter: the quarter that it pays, such as 2026-Q3
  pay_date: the day of the run on which it is paid
  amount: in minor units
  currency: of the amount
  state: pending, issued, settled, returned, reissued, held or void
  method: aft, nacha or cheque; null before the issue
  reason: why it is held, returned or void
Repeated: Reads only.
Sample:
  SELECT quarter, pay_date, amount, state, reason FROM payouts.of_person(person => 17);
$doc$;
