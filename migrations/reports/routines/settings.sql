-- Which establishments get reports, in which time zone, and who is notified of them.

CREATE OR REPLACE FUNCTION reports.put_settings(establishment bigint, time_zone text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM establishments.expect_establishment(establishment);
    PERFORM errand.expect(errand.is_zone(time_zone),
        'put_settings: time_zone: expected a name such as America/Toronto');
    INSERT INTO reports.settings (establishment_id, time_zone)
    VALUES (establishment, time_zone)
    ON CONFLICT ON CONSTRAINT settings_pkey DO NOTHING;
    IF FOUND THEN
        RETURN true;
    END IF;
    UPDATE reports.settings s SET time_zone = time_zone
    WHERE s.establishment_id = establishment AND s.time_zone <> time_zone;
    RETURN false;
END $$;
COMMENT ON FUNCTION reports.put_settings(bigint, text) IS $doc$
Has reports made for an establishment, from the current week and month on, or changes its time
zone. Reports that are known keep theirs.

Arguments:
  establishment: the establishment
  time_zone: the IANA zone in which its weeks and months begin, such as America/Toronto
Returns:
  is_new: whether it got no reports before
Errors:
  22023: no such time zone
  23503: no such establishment
Repeated: changes nothing, and answers false.
Sample:
  SELECT reports.put_settings(establishment => 7, time_zone => 'America/Toronto');
$doc$;

CREATE OR REPLACE FUNCTION reports.put_contact(
    establishment bigint, email text, locale text DEFAULT 'en'
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(notification.is_address(email),
        'put_contact: email: expected an address of at most 254 characters');
    PERFORM errand.expect(locale ~ '^[a-z]{2,3}([-_][A-Za-z]{2})?$',
        'put_contact: locale: expected such as en or en-CA');
    -- One of several at once waits, so that no more than the limit are added.
    PERFORM FROM reports.settings s WHERE s.establishment_id = establishment FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
        PERFORM errand.refuse('no_settings',
            format('establishment %s has no time zone for reports', establishment),
            'Set it with reports.put_settings first.');
    END IF;
    UPDATE reports.contacts c SET email = email, locale = locale
    WHERE c.establishment_id = establishment AND c.email_key = lower(email);
    IF FOUND THEN
        RETURN false;
    END IF;
    IF (SELECT count(*) FROM reports.contacts c WHERE c.establishment_id = establishment) >= 20
    THEN
        PERFORM errand.refuse('too_many', format('establishment %s has 20 contacts', establishment),
            'Remove one with reports.remove_contact first.');
    END IF;
    INSERT INTO reports.contacts (establishment_id, email, locale)
    VALUES (establishment, email, locale);
    RETURN true;
END $$;
COMMENT ON FUNCTION reports.put_contact(bigint, text, text) IS $doc$
Adds an address that is notified by mail of each report of an establishment.

Arguments:
  establishment: the establishment, which has a time zone for reports
  email: the address, such as that of its manager
  locale: the language of the mails, such as en or en-CA
Returns:
  is_new: whether the address was not notified before
Reasons:
  no_settings: the establishment has no time zone for reports: call put_settings first
  too_many: it has 20 contacts
Errors:
  22023: the address or the locale is invalid
  23503: no such establishment
Repeated: changes the spelling and the locale, and answers false.
Sample:
  SELECT reports.put_contact(establishment => 7, email => 'office@example.org');
$doc$;

CREATE OR REPLACE FUNCTION reports.remove_contact(establishment bigint, email text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM establishments.expect_establishment(establishment);
    DELETE FROM reports.contacts c
    WHERE c.establishment_id = establishment AND c.email_key = lower(email);
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION reports.remove_contact(bigint, text) IS $doc$
Removes an address: it is notified no more.

Arguments:
  establishment: the establishment
  email: the address, in any spelling
Returns:
  is_removed: whether it was notified before
Errors:
  23503: no such establishment
Repeated: changes nothing, and answers false.
Sample:
  SELECT reports.put_contact(establishment => 7, email => 'other@example.org');
  SELECT reports.remove_contact(establishment => 7, email => 'other@example.org');
$doc$;

CREATE OR REPLACE FUNCTION reports.contacts_of(establishment bigint)
RETURNS TABLE (email text, locale text, added_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.email, c.locale, c.added_at FROM reports.contacts c
    WHERE c.establishment_id = $1 ORDER BY c.email_key
$$;
COMMENT ON FUNCTION reports.contacts_of(bigint) IS $doc$
Lists the addresses that are notified of an establishment's reports.

Arguments:
  establishment: the establishment
Returns:
  email: the address
  locale: the language of the mails
  added_at: when it was added
Repeated: Reads only.
Sample:
  SELECT email, locale FROM reports.contacts_of(establishment => 7);
$doc$;

CREATE OR REPLACE FUNCTION reports.put_postal_prefix(person bigint, prefix text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    PERFORM errand.expect(prefix IS NULL OR upper(prefix) ~ '^[A-Z0-9]{1,4}$',
        'put_postal_prefix: prefix: expected 1 to 4 letters and digits, such as H2X');
    -- A request for erasure at the same moment comes first, or waits.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    PERFORM people.expect_open(person);
    IF prefix IS NULL THEN
        DELETE FROM reports.postal_prefixes x WHERE x.person_id = person;
        RETURN;
    END IF;
    INSERT INTO reports.postal_prefixes AS x (person_id, prefix) VALUES (person, upper(prefix))
    ON CONFLICT ON CONSTRAINT postal_prefixes_pkey DO UPDATE SET prefix = excluded.prefix
    WHERE x.prefix <> excluded.prefix;
END $$;
COMMENT ON FUNCTION reports.put_postal_prefix(bigint, text) IS $doc$
Records the first characters of a person's postal code. Monthly reports show how many people
answered from an area, for areas of at least five people.

Arguments:
  person: the person
  prefix: 1 to 4 letters and digits, such as H2X; null to forget it
Returns:
  nothing: nothing
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: the prefix is invalid
  23503: no such person
Repeated: changes nothing.
Sample:
  SELECT reports.put_postal_prefix(person => 17, prefix => 'H2X');
$doc$;
