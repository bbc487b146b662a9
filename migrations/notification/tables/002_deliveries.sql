-- Preferences, devices, deliveries, the inbox, and batches of deliveries that are prepared ahead
-- and released together.

-- The preferences of a person; without a row, the default of the kind applies.
CREATE TABLE notification.preferences (
    person_id bigint NOT NULL REFERENCES people.people ON DELETE CASCADE,
    -- A kind of notice, or * for all that have no row of their own.
    kind text COLLATE "C" NOT NULL CHECK (kind ~ '^(\*|[a-z0-9][a-z0-9_.-]{0,99})$'),
    channel text COLLATE "C" NOT NULL CHECK (channel IN ('push', 'email', 'inbox')),
    is_on boolean NOT NULL,
    PRIMARY KEY (person_id, kind, channel)
);

-- The apps whose devices can be registered; each module adds its own.
CREATE TABLE notification.apps (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_]{0,39}$')
);
-- The account itself, which belongs to no app.
INSERT INTO notification.apps VALUES ('account');

CREATE TABLE notification.devices (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id bigint NOT NULL REFERENCES people.people ON DELETE CASCADE,
    app text COLLATE "C" NOT NULL REFERENCES notification.apps,
    platform text NOT NULL CHECK (platform IN ('apns', 'fcm')),
    environment text NOT NULL CHECK (environment IN ('production', 'development')),
    -- The bundle id of the app, which APNs requires.
    topic text NOT NULL CHECK (length(topic) <= 200 AND topic !~ '[[:cntrl:][:space:]]'),
    token text NOT NULL
        CHECK (length(token) BETWEEN 1 AND 4096 AND token !~ '[[:cntrl:][:space:]]'),
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at timestamptz,
    disabled_reason text,
    UNIQUE (platform, token)
);
CREATE INDEX devices_person ON notification.devices (person_id) WHERE disabled_at IS NULL;

CREATE TYPE notification.delivery_status AS ENUM (
    'pending',
    'delivered',    -- the provider accepted it
    'rejected',     -- the provider can never accept this notice
    'gone',         -- the address or device no longer exists
    'failed',       -- there was nothing to send to, or all attempts failed
    'expired', 'withdrawn');

-- One row for each device or address that a notice goes to.
--
-- Written in the transaction of its notice, without a foreign key, whose check would be a fifth of
-- the cost of notifying many people. Deleting notices must delete these.
CREATE TABLE notification.deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notice_id bigint NOT NULL,
    -- Null for mail, which goes to the person's address at that time.
    device_id bigint,
    created_at timestamptz NOT NULL,
    answered_at timestamptz,
    attempts smallint NOT NULL DEFAULT 0,
    status notification.delivery_status NOT NULL DEFAULT 'pending',
    provider text NOT NULL CHECK (provider IN ('apns', 'fcm', 'mail')),
    -- The provider's answer, or why nothing was sent.
    reply text,
    CHECK ((device_id IS NULL) = (provider = 'mail'))
) WITH (fillfactor = 85);
-- A notice goes to each device or address once.
CREATE UNIQUE INDEX deliveries_way ON notification.deliveries (notice_id, device_id)
    NULLS NOT DISTINCT;

-- The items of the inboxes in the apps; deleted with their notices, like deliveries.
CREATE TABLE notification.inbox_items (
    notice_id bigint PRIMARY KEY,
    person_id bigint NOT NULL,
    app text NOT NULL,
    created_at timestamptz NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    read_at timestamptz,
    -- In the order of release: notices may be created long before.
    number bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX inbox_items_person ON notification.inbox_items (person_id, number);

-- Deliveries that wait for the release of their batch, with the columns of their jobs.
CREATE TABLE notification.parked_deliveries (
    delivery_id bigint PRIMARY KEY,
    -- Such as vote:12.
    batch text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    args_version smallint NOT NULL,
    priority smallint NOT NULL,
    max_attempts smallint NOT NULL,
    -- The job whose handler created them.
    job_id bigint
);
CREATE INDEX parked_deliveries_batch ON notification.parked_deliveries (batch);

-- Inbox items that wait for the release of their batch.
CREATE TABLE notification.parked_items (
    notice_id bigint PRIMARY KEY,
    person_id bigint NOT NULL,
    -- Whether the inbox is the only channel: the release sends the notice.
    is_alone boolean NOT NULL,
    batch text COLLATE "C" NOT NULL,
    app text NOT NULL,
    title text NOT NULL,
    body text NOT NULL
);
CREATE INDEX parked_items_batch ON notification.parked_items (batch);
