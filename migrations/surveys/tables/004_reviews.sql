-- Reviews of answers, how far the sweeps are, and how long answers are kept.

-- Answers that operators review, because they were sampled or flagged, or because they wanted to.
CREATE TABLE surveys.reviews (
    invitation_id bigint PRIMARY KEY,
    sampled_at timestamptz NOT NULL,
    -- hasty: below a quarter of the stated minutes; equal_ratings: all ratings are equal;
    -- short_text: a required text has few letters; same_text: as in an earlier answer.
    flags text[] NOT NULL DEFAULT '{}'
        CHECK (flags <@ '{hasty,equal_ratings,short_text,same_text}'),
    -- good; bad; fraud: bad, with proof. Null until an operator decides.
    verdict text COLLATE "C" CHECK (verdict IN ('good', 'bad', 'fraud')),
    reviewed_at timestamptz,
    actor text CHECK (length(actor) BETWEEN 1 AND 200),
    -- For operators; never shown to the person.
    note text CHECK (length(note) BETWEEN 1 AND 500),
    CHECK ((verdict IS NULL) = (reviewed_at IS NULL) AND (verdict IS NULL) = (actor IS NULL))
);
CREATE INDEX reviews_waiting ON surveys.reviews (sampled_at, invitation_id)
    WHERE verdict IS NULL;

-- How far the sweeps are: the last row that each has handled.
CREATE TABLE surveys.sweeps (
    -- expire: by expires_at of invitations; sample: by completed_at of answers.
    sweep text COLLATE "C" PRIMARY KEY CHECK (sweep IN ('expire', 'sample')),
    at timestamptz NOT NULL DEFAULT '-infinity',
    id bigint NOT NULL DEFAULT 0,
    -- When it last ran to the end; null before the first time.
    ended_at timestamptz
);
INSERT INTO surveys.sweeps (sweep) VALUES ('expire'), ('sample');

INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('surveys.answers', 'surveys', 'forget_people', '13 months',
        'who answered a survey; the answers are kept without the person'),
    ('surveys.invitations', 'surveys', 'forget_invited', '13 months',
        'who was invited to a survey; the invitations are kept without the person'),
    ('surveys.receipts', 'surveys', 'forget_receipts', '30 days',
        'hashes of scanned receipts, after the end of their invitation'),
    ('surveys.scan_days', 'surveys', 'forget_scan_days', '2 days',
        'at which branches people scanned receipts on a day');

-- The nightly recount of badges.
INSERT INTO badges.sources VALUES ('surveys', 'survey_done', 'deeds');
