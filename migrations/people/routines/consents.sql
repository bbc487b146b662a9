-- Consents: what a person agreed to, in which version, from when until when.

CREATE OR REPLACE FUNCTION people.record_consent(
    person bigint, what text, version text, at timestamptz DEFAULT now()
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    held people.consents;
BEGIN
    PERFORM errand.expect(what ~ '^[a-z][a-z_]{0,39}$',
        'record_consent: what: expected a word such as terms, privacy, location or marketing');
    PERFORM errand.expect(length(version) BETWEEN 1 AND 40,
        'record_consent: version: expected 1 to 40 characters, such as 2026-01');
    PERFORM errand.expect(at <= clock_timestamp() + interval '5 minutes',
        'record_consent: at: expected a time in the past');
    -- One of several at once waits for the others, and for a request for erasure.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    PERFORM people.expect_open(person);
    SELECT * INTO held FROM people.consents c
    WHERE c.person_id = person AND c.what = what AND c.replaced_at IS NULL
      AND c.withdrawn_at IS NULL;
    IF held.version = version THEN
        RETURN held.given_at;
    END IF;
    UPDATE people.consents c SET replaced_at = greatest(at, c.given_at) WHERE c.id = held.id;
    INSERT INTO people.consents (person_id, what, version, given_at)
    VALUES (person, what, version, at);
    IF what = 'location' THEN
        UPDATE people.people p SET location_consent_at = at WHERE p.id = person;
    END IF;
    RETURN at;
END $$;
COMMENT ON FUNCTION people.record_consent(bigint, text, text, timestamptz) IS $doc$
Records that a person agreed to something, such as a version of the terms. Another version
replaces the one before, which stays as proof. The consent `location` permits notices by place.

Arguments:
  person: the person
  what: terms, privacy, location, marketing or another word of lower-case letters
  version: the version that the person saw, such as 2026-01
  at: when the person agreed
Returns:
  given_at: when the person agreed to this version
Reasons:
  blocked: the person's erasure was requested
  under_age: the person is under 16
  erased: the person was erased
Errors:
  22023: what or version is malformed, or at is in the future
  23503: no such person
Repeated: with the same version, answers the time of the first call and changes nothing.
Sample:
  SELECT people.record_consent(person => 18, what => 'terms', version => '2026-01');
$doc$;

CREATE OR REPLACE FUNCTION people.withdraw_consent(person bigint, what text) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    withdrawn timestamptz;
BEGIN
    -- First, as record_consent does: else a version that is given meanwhile would stay in force.
    PERFORM FROM people.people p WHERE p.id = person FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM people.expect_person(person);
    END IF;
    UPDATE people.consents c SET withdrawn_at = clock_timestamp()
    WHERE c.person_id = person AND c.what = what AND c.replaced_at IS NULL
      AND c.withdrawn_at IS NULL
    RETURNING c.withdrawn_at INTO withdrawn;
    IF FOUND THEN
        IF what = 'location' THEN
            UPDATE people.people p SET location_consent_at = NULL WHERE p.id = person;
        END IF;
        RETURN withdrawn;
    END IF;
    RETURN (SELECT max(c.withdrawn_at) FROM people.consents c
        WHERE c.person_id = person AND c.what = what);
END $$;
COMMENT ON FUNCTION people.withdraw_consent(bigint, text) IS $doc$
Withdraws a consent. The record of it stays, with the time of the withdrawal.

Arguments:
  person: the person
  what: what the person no longer agrees to, such as marketing
Returns:
  withdrawn_at: when it was withdrawn; null if the person never agreed
Errors:
  23503: no such person
Repeated: answers the time of the first call.
Sample:
  SELECT people.withdraw_consent(person => 18, what => 'terms');
$doc$;

CREATE OR REPLACE FUNCTION people.consents_of(person bigint) RETURNS TABLE (
    what text, version text, given_at timestamptz, replaced_at timestamptz,
    withdrawn_at timestamptz, is_in_force boolean
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.what, c.version, c.given_at, c.replaced_at, c.withdrawn_at,
        c.replaced_at IS NULL AND c.withdrawn_at IS NULL
    FROM people.consents c WHERE c.person_id = person ORDER BY c.id
$$;
COMMENT ON FUNCTION people.consents_of(bigint) IS $doc$
Lists a person's consents, those of the past too, in the order in which they were given.

Arguments:
  person: the person
Returns:
  what: terms, privacy, location, marketing or another word
  version: the version that the person saw
  given_at: when the person agreed
  replaced_at: when the person agreed to another version; null if not
  withdrawn_at: when the person withdrew it; null if not
  is_in_force: whether it holds now
Repeated: Reads only.
Sample:
  SELECT what, version, given_at, is_in_force FROM people.consents_of(person => 18);
$doc$;

-- Keeps the consents in step with the fact location_consent_at, however it is written.
CREATE OR REPLACE FUNCTION people.follow_location_consent() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.location_consent_at IS NULL THEN
        UPDATE people.consents c SET withdrawn_at = clock_timestamp()
        WHERE c.person_id = NEW.id AND c.what = 'location' AND c.replaced_at IS NULL
          AND c.withdrawn_at IS NULL;
    ELSIF NOT EXISTS (SELECT FROM people.consents c
        WHERE c.person_id = NEW.id AND c.what = 'location' AND c.replaced_at IS NULL
          AND c.withdrawn_at IS NULL AND c.given_at = NEW.location_consent_at)
    THEN
        UPDATE people.consents c SET replaced_at = clock_timestamp()
        WHERE c.person_id = NEW.id AND c.what = 'location' AND c.replaced_at IS NULL
          AND c.withdrawn_at IS NULL;
        INSERT INTO people.consents (person_id, what, version, given_at)
        VALUES (NEW.id, 'location', 'unversioned', NEW.location_consent_at);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER people_location_consent_new AFTER INSERT ON people.people
    FOR EACH ROW WHEN (NEW.location_consent_at IS NOT NULL)
    EXECUTE FUNCTION people.follow_location_consent();
CREATE OR REPLACE TRIGGER people_location_consent AFTER UPDATE OF location_consent_at
    ON people.people FOR EACH ROW
    WHEN (OLD.location_consent_at IS DISTINCT FROM NEW.location_consent_at)
    EXECUTE FUNCTION people.follow_location_consent();
