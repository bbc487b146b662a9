-- What a person agreed to, in which version and when; the past ones too, as proof.

CREATE TABLE people.consents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people,
    -- Such as terms, privacy, location or marketing.
    what text COLLATE "C" NOT NULL CHECK (what ~ '^[a-z][a-z_]{0,39}$'),
    version text NOT NULL CHECK (length(version) BETWEEN 1 AND 40),
    given_at timestamptz NOT NULL,
    -- When another version replaced it, or when the person withdrew it; both null while in force.
    replaced_at timestamptz,
    withdrawn_at timestamptz,
    CHECK (replaced_at IS NULL OR withdrawn_at IS NULL)
);
CREATE UNIQUE INDEX consents_in_force ON people.consents (person_id, what)
    WHERE replaced_at IS NULL AND withdrawn_at IS NULL;
CREATE INDEX consents_person ON people.consents (person_id, id);

-- Consents to notices by place were a fact without a version.
INSERT INTO people.consents (person_id, what, version, given_at)
SELECT id, 'location', 'unversioned', location_consent_at
FROM people.people WHERE location_consent_at IS NOT NULL;
