-- Who takes part, what they cast, and the count.

-- Who takes part. References are checked by the functions that write here: to check the vote's row
-- would make those who cast wait for each other.
CREATE TABLE votes.participants (
    vote_id bigint NOT NULL,
    -- Of people.people; a number below 0, and nobody's, once it is erased.
    person_id bigint NOT NULL,
    joined_on date NOT NULL,
    has_cast boolean NOT NULL DEFAULT false,
    is_rejected boolean NOT NULL DEFAULT false,
    is_erased boolean NOT NULL DEFAULT false,
    -- Asked for before the result was out: erased with it.
    is_to_be_erased boolean NOT NULL DEFAULT false,
    name text CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
    -- What is compared: see votes.name_key.
    name_key text COLLATE "C",
    -- As the person gives it, for the initiator to tell people of one name apart.
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

-- How many have cast, in slices by connection, so that nobody waits.
CREATE TABLE votes.cast_counts (
    vote_id bigint NOT NULL,
    casts int NOT NULL,
    slice smallint NOT NULL,
    PRIMARY KEY (vote_id, slice)
) WITH (fillfactor = 50);

-- Large votes whose notices are prepared while they are open; when there were so many participants,
-- last.
CREATE TABLE votes.preparations (
    vote_id bigint PRIMARY KEY,
    participants int NOT NULL
);

-- What was chosen, in the order of the commitments, by which votes.place_of finds them. Two who
-- bring one nonce and choose the same have the same commitment, and both count.
CREATE TABLE votes.ballots (
    vote_id bigint NOT NULL,
    position int NOT NULL,
    choice smallint[] NOT NULL,
    nonce bytea NOT NULL CHECK (length(nonce) = 32),
    commitment bytea NOT NULL CHECK (length(commitment) = 32),
    PRIMARY KEY (vote_id, position)
);

-- The tree above the ballots: level 1 has the hashes of their pairs, and so on to the root. What
-- has no neighbour goes up as it is. So a proof is a few look-ups.
CREATE TABLE votes.nodes (
    vote_id bigint NOT NULL,
    position int NOT NULL,
    level smallint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (vote_id, level, position)
);

CREATE TYPE votes.exception_state AS ENUM ('open', 'validated', 'rejected', 'unresolved');

-- Names that several of those who cast have.
CREATE TABLE votes.exceptions (
    vote_id bigint NOT NULL REFERENCES votes.votes,
    decided_at timestamptz,
    state votes.exception_state NOT NULL DEFAULT 'open',
    name_key text COLLATE "C" NOT NULL,
    -- Who decided, and what for.
    actor text,
    reason text CHECK (length(reason) <= 500),
    PRIMARY KEY (vote_id, name_key)
);
CREATE INDEX exceptions_open ON votes.exceptions (vote_id) WHERE state = 'open';

-- Wrong passwords; as coupons.guesses.
CREATE UNLOGGED TABLE votes.guesses (
    vote_id bigint NOT NULL,
    person_id bigint NOT NULL,
    period timestamptz NOT NULL,
    count int NOT NULL,
    PRIMARY KEY (vote_id, person_id)
) WITH (fillfactor = 50);

-- Known before the first worker has said so.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('votes.close', 1, 'votes', 0, 50), ('votes.count', 1, 'votes', 1, 50),
    ('votes.publish', 1, 'votes', 1, 50), ('votes.review', 1, 'votes', 1, 50),
    ('votes.prepare', 1, 'votes', 2, 10), ('votes.keys', 1, 'votes', 0, 5),
    ('votes.sweep', 1, 'votes', 1, 5);

-- The answer to somebody who joins or casts. The reasons:
--   ok                 it is done, or was done by the same request before
--   unknown            there is no such vote
--   wrong_password, too_many_guesses (nothing is looked at before ask_again_at)
--   too_early, closed  the vote takes nothing now
--   invalid_choice     not one of the options, one of them twice, or too many of them
--   not_joined, already_cast
--   not_ready          ask again in a second: workers open the keys after a crash
CREATE TYPE votes.answer AS (
    is_accepted boolean,
    reason text,
    -- Of a ballot: what proves that it was counted. It says what was chosen, and is kept nowhere.
    receipt text,
    ask_again_at timestamptz
);
