-- Accounts: codes that prove an address, links that reset a password, and invitations.
--
-- What a person gets by mail is in no table in clear:
--   * A code of six digits is kept as an HMAC with a salt. A reader of the hash and its key tries
--     all million codes in a second. So the key is never stored where the hash is: it is in an
--     unlogged table, in a column that no dump contains. After a crash of the server it is lost,
--     and its codes count as expired.
--   * A link has 32 random bytes, of which the SHA-256 is kept. Nobody guesses these.
--   * The words of the mail are sealed by the module notification, which deletes them when the
--     delivery ends.
-- Rows are deleted soon after their end: see people.retention_rules.
--
-- A request does not look for the account of its address: a job does, in a worker. So the answer
-- and its time are the same whether an account has the address or not.

CREATE SCHEMA accounts;

CREATE TABLE accounts.rules (
    -- How long a code can be used, and how many wrong ones end it.
    code_for interval NOT NULL DEFAULT '10 minutes'
        CHECK (code_for BETWEEN '1 minute' AND '1 hour'),
    tries int NOT NULL DEFAULT 5 CHECK (tries BETWEEN 1 AND 20),
    -- Codes in an hour, to one address and for one caller.
    codes int NOT NULL DEFAULT 5 CHECK (codes >= 1),
    codes_of_caller int NOT NULL DEFAULT 100 CHECK (codes_of_caller >= 1),
    -- How long a reset link can be used, and how many may be requested in an hour.
    reset_for interval NOT NULL DEFAULT '60 minutes'
        CHECK (reset_for BETWEEN '1 minute' AND '1 day'),
    resets int NOT NULL DEFAULT 3 CHECK (resets >= 1),
    resets_of_caller int NOT NULL DEFAULT 20 CHECK (resets_of_caller >= 1),
    -- How long an invitation can be accepted, and when its reminder is sent; null for none.
    invitation_for interval NOT NULL DEFAULT '14 days'
        CHECK (invitation_for BETWEEN '1 hour' AND '90 days'),
    remind_after interval DEFAULT '3 days' CHECK (remind_after > '0'),
    -- Invitations in a day, to one address and by one person.
    invitations int NOT NULL DEFAULT 5 CHECK (invitations >= 1),
    invitations_by_person int NOT NULL DEFAULT 50 CHECK (invitations_by_person >= 1),
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO accounts.rules DEFAULT VALUES;

-- Where the links of an app lead. Operators set them; no text of a user gets into one.
CREATE TABLE accounts.link_templates (
    app text COLLATE "C" NOT NULL REFERENCES notification.apps,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('reset', 'invitation')),
    -- Such as https://survey.example.com/reset?token={token}.
    template text NOT NULL CHECK (length(template) <= 1000
        AND template ~ '^[a-z][a-z0-9+.-]*://[!-~]+$'
        -- The token travels by TLS, or stays on the phone.
        AND template !~ '^http://(?!(localhost|127\.0\.0\.1)[:/])'
        AND template !~ '^[a-z0-9+.-]+://[^/?#]*@'
        AND length(replace(template, '{token}', '')) = length(template) - 7),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app, kind)
);

-- One row for each address with a recent request: the lock under which its requests are counted.
CREATE TABLE accounts.addresses (
    address_key text PRIMARY KEY,
    requested_at timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX addresses_requested ON accounts.addresses (requested_at);

-- The keys of the hashes of codes, a new one each hour. The key itself is a generated column, which
-- no dump contains (routines/code_keys.sql).
CREATE UNLOGGED TABLE accounts.code_keys (
    -- Random, so that a key from after a crash has no code from before.
    id bigint PRIMARY KEY,
    made_at timestamptz NOT NULL
);

CREATE TABLE accounts.codes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    app text COLLATE "C" NOT NULL REFERENCES notification.apps,
    purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('sign_in', 'verify_address')),
    -- As it was given, and for comparison.
    address text NOT NULL,
    address_key text NOT NULL,
    locale text NOT NULL,
    -- By which the app counts the requests of a network, such as a hash of its address.
    caller text,
    requested_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- When a worker has sent it, or has found no account.
    sent_at timestamptz,
    -- The account to which it was sent; null for an address of nobody.
    person_id bigint REFERENCES people.people,
    -- No foreign key: a crash loses keys.
    key_id bigint NOT NULL,
    salt bytea,
    -- HMAC-SHA-256 of the id, the salt and the code; null if no code was sent.
    mac bytea,
    -- Wrong codes of committed transactions; see accounts.tries_of().
    tries int NOT NULL DEFAULT 0,
    ended_at timestamptz,
    end_reason text CHECK (end_reason IN ('used', 'replaced', 'address_changed')),
    -- The request that has used it.
    used_by text,
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX codes_address ON accounts.codes (address_key, requested_at);
CREATE INDEX codes_caller ON accounts.codes (caller, requested_at) WHERE caller IS NOT NULL;
CREATE INDEX codes_person ON accounts.codes (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX codes_expiry ON accounts.codes (expires_at);
CREATE INDEX codes_unsent ON accounts.codes (requested_at) WHERE sent_at IS NULL;
ALTER TABLE accounts.codes ALTER mac SET STATISTICS 0, ALTER salt SET STATISTICS 0;

CREATE TABLE accounts.links (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('reset', 'invitation')),
    app text COLLATE "C" NOT NULL REFERENCES notification.apps,
    address text NOT NULL,
    address_key text NOT NULL,
    locale text NOT NULL,
    caller text,
    -- Who invites.
    inviter_id bigint REFERENCES people.people,
    -- The name that the mail shows.
    inviter_name text CHECK (length(inviter_name) BETWEEN 1 AND 100),
    requested_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    sent_at timestamptz,
    reminded_at timestamptz,
    -- The account to reset, or the person who has accepted the invitation.
    person_id bigint REFERENCES people.people,
    -- SHA-256 of the token; null if no link was sent. The reminder has a token of its own.
    token_hash bytea UNIQUE CHECK (length(token_hash) = 32),
    reminder_hash bytea UNIQUE CHECK (length(reminder_hash) = 32),
    ended_at timestamptz,
    end_reason text CHECK (end_reason IN ('used', 'replaced', 'address_changed', 'withdrawn')),
    used_by text,
    CHECK ((kind = 'invitation') = (inviter_id IS NOT NULL)),
    CHECK ((kind = 'invitation') = (inviter_name IS NOT NULL)),
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX links_address ON accounts.links (address_key, requested_at);
CREATE INDEX links_caller ON accounts.links (caller, requested_at) WHERE caller IS NOT NULL;
CREATE INDEX links_person ON accounts.links (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX links_inviter ON accounts.links (inviter_id, requested_at)
    WHERE inviter_id IS NOT NULL;
CREATE INDEX links_end ON accounts.links ((least(ended_at, expires_at)));
CREATE INDEX links_unsent ON accounts.links (requested_at) WHERE sent_at IS NULL;
ALTER TABLE accounts.links ALTER token_hash SET STATISTICS 0,
    ALTER reminder_hash SET STATISTICS 0;

-- By which the account of an address is found.
CREATE INDEX people_address ON people.people (lower(email)) WHERE email IS NOT NULL;

-- Counters of wrong codes, as a rollback does not undo nextval() and setval(): see
-- accounts.count_try(). Unlogged: after a crash the codes themselves are worthless.
DO $$
BEGIN
    FOR slot IN 0..127 LOOP
        EXECUTE format('CREATE UNLOGGED SEQUENCE accounts.tries_%s', slot);
    END LOOP;
END $$;

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('accounts.code', 1, 'notices', 0, 20), ('accounts.link', 1, 'notices', 1, 20);

INSERT INTO people.holders VALUES ('accounts', 70, false);
INSERT INTO people.retention_rules VALUES
    ('accounts.codes', 'accounts', 'forget_codes', '1 hour',
        'sign-in and verification codes, after their expiry'),
    ('accounts.links', 'accounts', 'forget_links', '1 day',
        'reset links and invitations, after their use, withdrawal or expiry'),
    ('accounts.addresses', 'accounts', 'forget_addresses', '1 day',
        'addresses that codes and links were requested for, after the last request');
