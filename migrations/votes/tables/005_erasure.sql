-- The erasure of people from votes, and how long votes keep people.

ALTER TABLE votes.votes
    -- Whether the retention has made all participants anonymous.
    ADD is_anonymous boolean NOT NULL DEFAULT false;
CREATE INDEX votes_ended ON votes.votes ((coalesce(published_at, closes_at)), id)
    WHERE state IN ('published', 'cancelled') AND NOT is_anonymous;

-- A participant is erased at once: name and address are wiped, and of the name only a digest stays
-- until the publication, by which double votes are still found. The id, to which the sealed link
-- belongs, is replaced by the publication.
UPDATE votes.participants p
SET is_erased = true, name = NULL, name_key = NULL, address = NULL WHERE p.is_to_be_erased;
ALTER TABLE votes.participants DROP is_to_be_erased;
-- Only for the review of equal names, which is over.
UPDATE votes.participants p SET address = NULL
FROM votes.votes v
WHERE v.id = p.vote_id AND v.state IN ('counted', 'published', 'cancelled')
  AND p.address IS NOT NULL;

CREATE INDEX guesses_person ON votes.guesses (person_id);

-- Now votes.forget; votes.erase has another result.
DROP FUNCTION IF EXISTS votes.erase(bigint, bigint);
DROP FUNCTION IF EXISTS votes.erase_requested(bigint);

INSERT INTO people.holders (module, position, blocks) VALUES ('votes', 10, true);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('votes.participants', 'votes', 'forget_participants', '24 months',
        'names and ids of participants, and names of initiators, since the publication');
