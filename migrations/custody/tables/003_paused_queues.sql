-- The queues that a destruction has paused, as they were before, to restore them if it is
-- cancelled: an operator may have paused some of them for a while.
CREATE TABLE custody.paused_queues (
    destruction_id bigint NOT NULL REFERENCES custody.destructions,
    queue text COLLATE "C" NOT NULL,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    paused_until timestamptz,
    PRIMARY KEY (destruction_id, queue)
);
