-- Participants, their ballots, and the count.

-- The participants. The functions that write here check references, as foreign keys to the vote's
-- row would make concurrent casts wait for each other.
CREATE TABLE votes.participants (
    vote_id bigint NOT NULL,
    -- An id of people.people; once erased, a negative number of nobody.
    person_id bigint NOT NULL,
    joined_on date NOT NULL,
    has_cast boolean NOT NULL DEFAULT false,
    is_rejected boolean NOT NULL DEFAULT false,
    is_erased boolean NOT NULL DEFAULT false,
    -- Requested before the publication, which erases the row.
    is_to_be_erased boolean NOT NULL DEFAULT false,
    name text CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
    -- The normalized name: see votes.name_key.
    name_key text COLLATE "C",
    -- Entered by the person, so that the initiator can distinguish equal names.
    address text CHECK (length(address) <= 300),
    PRIMARY KEY (vote_id, person_id),
    CHECK ((name IS NULL) = is_erased),
    CHECK ((name_key IS NULL) = is_erased),
    CHECK (address IS NULL OR NOT is_erased)
) WITH (fillfactor = 80);
CREATE INDEX participants_person ON votes.participants (person_id, vote_id) WHERE NOT is_erased;
CREATE SEQUENCE votes.erased_people;

-- The sealed links, until the count.
CREATE TABLE votes.casts (
    vote_id bigint NOT NULL,
    person_id bigint NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (vote_id, person_id)
);
ALTER TABLE votes.casts ALTER sealed SET STATISTICS 0;

-- The number of casts, in slices by connection, so that nobody waits.
CREATE TABLE votes.cast_counts (
    vote_id bigint NOT NULL,
    casts int NOT NULL,
    slice smallint NOT NULL,
    PRIMARY KEY (vote_id, slice)
) WITH (fillfactor = 50);

-- Large votes whose notices are prepared while they are open; the number of
-- participants at the last preparation.
CREATE TABLE votes.preparations (
    vote_id bigint PRIMARY KEY,
    participants int NOT NULL
);

-- The ballots, ordered by commitment, by which votes.place_of finds them. Two ballots with the same
-- nonce and choice have the same commitment, and both count.
CREATE TABLE votes.ballots (
    vote_id bigint NOT NULL,
    position int NOT NULL,
    choice smallint[] NOT NULL,
    nonce bytea NOT NULL CHECK (length(nonce) = 32),
    commitment bytea NOT NULL CHECK (length(commitment) = 32),
    PRIMARY KEY (vote_id, position)
);

-- The tree above the ballots: level 1 has the hashes of their pairs, and so on to the root. A node
-- without a neighbor is promoted. A proof needs only a few lookups.
CREATE TABLE votes.nodes (
    vote_id bigint NOT NULL,
    position int NOT NULL,
    level smallint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (vote_id, level, position)
);

CREATE TYPE votes.exception_state AS ENUM ('open', 'validated', 'rejected', 'unresolved');

-- Names that several voters entered.
CREATE TABLE votes.exceptions (
    vote_id bigint NOT NULL REFERENCES votes.votes,
    decided_at timestamptz,
    state votes.exception_state NOT NULL DEFAULT 'open',
    name_key text COLLATE "C" NOT NULL,
    -- The author of the decision, and the reason.
    actor text,
    reason text CHECK (length(reason) <= 500),
    PRIMARY KEY (vote_id, name_key)
);
CREATE INDEX exceptions_open ON votes.exceptions (vote_id) WHERE state = 'open';

-- Wrong passwords; like coupons.guesses.
CREATE UNLOGGED TABLE votes.guesses (
    vote_id bigint NOT NULL,
    person_id bigint NOT NULL,
    period timestamptz NOT NULL,
    count int NOT NULL,
    PRIMARY KEY (vote_id, person_id)
) WITH (fillfactor = 50);

-- Known before the first worker has registered its kinds.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('votes.close', 1, 'votes', 0, 50), ('votes.count', 1, 'votes', 1, 50),
    ('votes.publish', 1, 'votes', 1, 50), ('votes.review', 1, 'votes', 1, 50),
    ('votes.prepare', 1, 'votes', 2, 10), ('votes.keys', 1, 'votes', 0, 5),
    ('votes.sweep', 1, 'votes', 1, 5);

-- The answer to joining or casting. The reasons:
--   ok                 done, now or by the same request before
--   unknown            the vote does not exist
--   wrong_password, too_many_guesses (all are refused before ask_again_at)
--   too_early, closed  the vote is not open yet, or closed
--   invalid_choice     an unknown option, a duplicate, or too many options
--   not_joined, already_cast
--   not_ready          retry in a second: workers open the keys after a crash
CREATE TYPE votes.answer AS (
    is_accepted boolean,
    reason text,
    -- The proof that a ballot was counted. It contains the choice, and is stored nowhere.
    receipt text,
    ask_again_at timestamptz
);
