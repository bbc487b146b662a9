-- The rewards of the past quarter, and the bank details and addresses of their earners.
CREATE FUNCTION demo.earned_at(survey bigint) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT (date_trunc('quarter', now() AT TIME ZONE 'America/Toronto') - interval '80 days')
        AT TIME ZONE 'America/Toronto' + survey % 60 * interval '1 day'
$$;

-- Transactions of some hundreds, as from the app: two surveys each, paid by an establishment.
DO $$
BEGIN
    FOR person IN 1..1500 LOOP
        CONTINUE WHEN NOT people.is_of_age(person);
        FOR n IN 1..2 LOOP
            PERFORM ledger.credit_reward(person, 'survey:' || (person * 2 + n), 1 + person % 120,
                500, 40 + (person * 37 + n * 101) % 460, 'CAD', demo.earned_at(person * 2 + n));
        END LOOP;
        IF person % 100 = 0 THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;

-- One in a hundred gave no address.
SELECT count(payouts.set_payee(n,
    (ARRAY['Zoé Tremblay', 'Noah Gagnon', 'Émile Roy', 'Olivia Côté', 'Léa Bouchard'])[1 + n % 5]
        || ' ' || n,
    ARRAY[10 + n || ', rue Rachel Est', 'Montréal QC  H2W 1E1']))
FROM generate_series(1, 1500) n WHERE n % 100 <> 0;
