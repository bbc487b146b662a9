-- Functions for apps: names, addresses and bank details of people.

-- Sets a person's name and postal address: up to four lines of up to 40 characters.
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
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        PERFORM ledger.refuse_owner('person', person);
    END IF;
    INSERT INTO payouts.payees AS y (person_id, name, address) VALUES (person, name, address)
    ON CONFLICT ON CONSTRAINT payees_pkey DO UPDATE
    SET name = excluded.name, address = excluded.address, updated_at = clock_timestamp();
END $$;

-- Sets a person's bank details, sealed by the caller: `errand payout enter`, or an app's server
-- that has the key. The context of the seal is payouts.bank_details/ and the person's id.
--   country   CA or US
--   sealed    the details as JSON, sealed by AES-256-GCM
--   hint      an ellipsis and the last digits of the account, such as …678
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
    IF NOT EXISTS (SELECT FROM people.people p WHERE p.id = person) THEN
        PERFORM ledger.refuse_owner('person', person);
    END IF;
    INSERT INTO payouts.bank_details AS d (person_id, country, sealed, hint)
    VALUES (person, country, sealed, hint)
    ON CONFLICT ON CONSTRAINT bank_details_pkey DO UPDATE
    SET country = excluded.country, sealed = excluded.sealed, hint = excluded.hint,
        given_at = clock_timestamp(), refused_at = NULL, refused_for = NULL;
END $$;

-- Deletes a person's bank details, so that cheques are used; false if there are none.
CREATE OR REPLACE FUNCTION payouts.forget_bank_details(person bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM payouts.bank_details d WHERE d.person_id = person;
    RETURN FOUND;
END $$;

-- A person's payouts for their app, newest first.
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
