-- What opens the links of a vote can be destroyed at once, and the locks of votes are rows that no
-- login can take.
--
-- Deleted rows stay in the pages of a table until others overwrite them, VACUUM or not. A table is
-- thrown away as a file only by TRUNCATE and DROP, which wait for everybody, even for pg_dump. So
-- the links are sealed with a key of two parts:
--   * the vote's key: sealed in votes.keys with the key file, and in clear in votes.open_keys,
--     which is unlogged.
--   * the vote's share: random, in votes.key_shares, wrapped with the wrapping key.
-- The wrapping key is the value of two sequences, 128 bits. There are two pairs of them, the slots.
-- A rotation (votes.rotate_wrapping_key, votes.destroy_keys) draws a new key in the free slot,
-- wraps the shares of all votes that are not counted with it, and restarts the sequences of the
-- other slot. ALTER SEQUENCE … RESTART replaces their files, and does not wait for pg_dump. If some
-- session keeps it from the lock that it needs, setval overwrites them in place, and a checkpoint
-- writes them to the disk. Then nothing unwraps the shares of counted votes, wherever their bytes
-- are, and no vote is published before.
--
-- What the parts of a link's key are in:
--                            live files   live files   WAL, base     dump
--                            during       after        backup
--   key, sealed              yes          yes          yes           yes
--   key, in clear            yes          yes          no            no
--   wrapped share            yes          yes          yes           yes
--   wrapping key             yes          no           yes           yes
-- So WAL, base backups and dumps reveal links only together with the key file;
-- docs/modules/votes.md says how to keep them apart.

-- Nobody casts or opens a vote between the check and the new tables.
LOCK TABLE votes.votes, votes.casts, votes.open_keys, votes.participants IN ACCESS EXCLUSIVE MODE;

DO $$
BEGIN
    IF EXISTS (SELECT FROM votes.casts) THEN
        RAISE EXCEPTION 'votes with ballots are open, and their links are sealed in the old way'
            USING ERRCODE = 'object_in_use',
                HINT = 'Wait until they are published, or cancel them; then migrate again.';
    END IF;
END $$;

-- ---- The wrapping key -----------------------------------------------------------------------

CREATE SEQUENCE votes.wrapping_0_high MINVALUE -9223372036854775808 START 1;
CREATE SEQUENCE votes.wrapping_0_low MINVALUE -9223372036854775808 START 1;
CREATE SEQUENCE votes.wrapping_1_high MINVALUE -9223372036854775808 START 1;
CREATE SEQUENCE votes.wrapping_1_low MINVALUE -9223372036854775808 START 1;

-- The slot in use. The other one is empty, but between the two steps of a rotation. Its row is also
-- the lock of rotations: no login can take it.
CREATE TABLE votes.wrapping (
    slot smallint NOT NULL CHECK (slot IN (0, 1)),
    -- Whether no file has the key of the other slot; false between the two steps of a rotation.
    is_clean boolean NOT NULL DEFAULT true,
    -- Where the log was when that key was overwritten in place.
    emptied_at pg_lsn,
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO votes.wrapping VALUES (0);
SELECT setval(s, ('x' || encode(gen_random_bytes(8), 'hex'))::bit(64)::bigint)
FROM unnest('{votes.wrapping_0_high,votes.wrapping_0_low}'::regclass[]) s;

-- The shares of votes, until their keys are destroyed.
CREATE TABLE votes.key_shares (
    vote_id bigint PRIMARY KEY,
    slot smallint NOT NULL CHECK (slot IN (0, 1)),
    -- 32 random bytes and 16 zeros, by which a wrong key is recognized.
    wrapped bytea NOT NULL CHECK (length(wrapped) = 48)
-- Each rotation rewrites all rows.
) WITH (fillfactor = 45);
ALTER TABLE votes.key_shares ALTER wrapped SET STATISTICS 0;
INSERT INTO votes.key_shares
SELECT v.id, 0, encrypt(gen_random_bytes(32) || '\x00000000000000000000000000000000'::bytea,
    int8send(h.last_value) || int8send(l.last_value), 'aes-cbc/pad:none')
FROM votes.votes v, votes.wrapping_0_high h, votes.wrapping_0_low l
WHERE v.state IN ('open', 'closed', 'review');

-- ---- Keys in clear --------------------------------------------------------------------------

-- Empty until a worker opens the keys again. routines/keys.sql adds cipher_key and mac_key, which
-- are in no dump.
DROP TABLE votes.open_keys;
CREATE UNLOGGED TABLE votes.open_keys (
    key_id bigint PRIMARY KEY REFERENCES votes.keys ON DELETE CASCADE,
    -- Of the vote's password, so that the slow hash is computed only once.
    password_mac bytea
) WITH (fillfactor = 50);
ALTER TABLE votes.open_keys ALTER password_mac SET STATISTICS 0;

-- New files, without the deleted rows of votes that were published before.
TRUNCATE votes.casts;
CLUSTER votes.keys USING keys_pkey;

-- ---- Locks ----------------------------------------------------------------------------------

-- The gates of an open vote, each a lock and a part of the number of casts. A connection joins and
-- casts through one of them, and closing deletes all. Gate -1 is that of the notices, until the
-- publication: preparations share it, and the publication and the cancellation wait for them.
CREATE TABLE votes.gates (
    vote_id bigint NOT NULL,
    casts int NOT NULL DEFAULT 0,
    number smallint NOT NULL,
    PRIMARY KEY (vote_id, number)
) WITH (fillfactor = 50);
INSERT INTO votes.gates (vote_id, number)
SELECT v.id, n
FROM votes.votes v CROSS JOIN LATERAL generate_series(-1, CASE WHEN v.state <> 'open' THEN -1
    WHEN v.expected > 256 THEN 63 WHEN v.expected > 0 THEN 0 ELSE 31 END) AS n
WHERE v.state NOT IN ('published', 'cancelled');
DROP TABLE votes.cast_counts;

-- What is done by one at a time.
CREATE TABLE votes.locks (
    name text PRIMARY KEY
);
INSERT INTO votes.locks VALUES ('keys'), ('ask_for_keys');

DROP FUNCTION IF EXISTS votes.lock_of(bigint);
DROP FUNCTION IF EXISTS votes.news_lock(bigint);
DROP FUNCTION IF EXISTS votes.slice_for(int);
DROP FUNCTION IF EXISTS votes.enter(bigint, boolean);

-- ---- Participants ---------------------------------------------------------------------------

-- Guarded by a trigger instead (routines/guards.sql). PostgreSQL parses each CHECK again with each
-- statement that writes the table, and casting writes one flag.
ALTER TABLE votes.participants
    DROP CONSTRAINT participants_name_check,
    DROP CONSTRAINT participants_address_check,
    DROP CONSTRAINT participants_check,
    DROP CONSTRAINT participants_check1,
    DROP CONSTRAINT participants_check2;
