-- Personal lists, the chore catalogue, chores without a day, pictures, and the feed of activities.

-- Their signatures or results have changed.
DROP FUNCTION IF EXISTS household.refuse_state(text, text);
DROP FUNCTION IF EXISTS household.feed(bigint);
DROP FUNCTION IF EXISTS household.my_group(bigint);
DROP FUNCTION IF EXISTS household.roommates(bigint);
DROP FUNCTION IF EXISTS household.add_bill(
    bigint, text, bigint, bigint[], text, date, text, bigint[], bigint);
DROP FUNCTION IF EXISTS household.edit_bill(
    bigint, bigint, text, bigint, bigint[], text, bigint[], bigint, date);
DROP FUNCTION IF EXISTS household.add_chore(
    bigint, text, date, text, text, int, time, bigint[], boolean);
DROP FUNCTION IF EXISTS household.done(bigint, bigint, timestamptz);
DROP FUNCTION IF EXISTS household.finish_occurrence(
    household.occurrences, household.occurrence_state, bigint, timestamptz);
DROP FUNCTION IF EXISTS household.occurrences(bigint, date, date);
DROP FUNCTION IF EXISTS household.add_item(bigint, text, boolean, numeric, text);
DROP FUNCTION IF EXISTS household.shopping_list(bigint);
DROP FUNCTION IF EXISTS household.take_items(bigint, bigint, bigint[], bigint[]);
DROP FUNCTION IF EXISTS household.settle_trip(
    bigint, bigint, bigint[], bigint[], text, bigint[], bigint[]);
DROP FUNCTION IF EXISTS household.add_note(bigint, text, timestamptz);
DROP FUNCTION IF EXISTS household.notes(bigint);
DROP FUNCTION IF EXISTS household.remind_debtors(bigint, bigint);
DROP FUNCTION IF EXISTS household.remind_of_chore(bigint, bigint);
DROP FUNCTION IF EXISTS household.forget_sessions(timestamptz, int);

ALTER TABLE household.rules
    -- Custom chores of one group in its catalogue.
    ADD max_custom_chores int NOT NULL DEFAULT 500 CHECK (max_custom_chores > 0);

-- The feed holds completed activities alone, so that they are counted apart from other events.
ALTER TABLE household.groups ADD activities bigint NOT NULL DEFAULT 0;
UPDATE household.groups SET activities = events;
DELETE FROM household.events
WHERE kind NOT IN ('joined', 'left', 'paid', 'chore_done', 'bill_added', 'trip_completed');

ALTER TABLE household.items
    -- Whether the others see it in the merged list; what is everybody's always is there.
    ADD is_shared boolean NOT NULL DEFAULT true,
    -- Such as the brand.
    ADD note text CHECK (length(note) BETWEEN 1 AND 200 AND note !~ '[[:cntrl:]]'),
    -- False for what was entered with its trip and never on a list, to which it does not go back.
    ADD is_listed boolean NOT NULL DEFAULT true,
    ADD CONSTRAINT items_shared CHECK (is_shared OR person_id IS NOT NULL);
-- Names of what was bought before.
CREATE INDEX items_bought ON household.items (group_id, name_key, unit) WHERE state = 'bought';
CREATE INDEX items_person ON household.items (person_id) WHERE person_id IS NOT NULL;

-- Chores to select from: predetermined ones, and those that a group has added itself.
CREATE TABLE household.catalogue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Null: predetermined, for all groups.
    group_id bigint REFERENCES household.groups,
    -- When a custom one was selected last.
    used_at timestamptz,
    -- By which apps translate a predetermined one.
    code text COLLATE "C" UNIQUE CHECK (code ~ '^[a-z_]{1,40}$'),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- By which equal titles are found: household.title_key().
    title_key text COLLATE "C" NOT NULL,
    CHECK ((group_id IS NULL) = (code IS NOT NULL)),
    CHECK ((group_id IS NULL) = (used_at IS NULL)),
    UNIQUE (group_id, title_key)
);
INSERT INTO household.catalogue (code, title, title_key)
SELECT c.code, c.title, lower(c.title) FROM (VALUES
    ('dishes', 'Wash the dishes'), ('bins', 'Take out the bins'),
    ('recycling', 'Take out the recycling'), ('vacuum', 'Vacuum the floors'),
    ('mop', 'Mop the floors'), ('dust', 'Dust the furniture'), ('kitchen', 'Clean the kitchen'),
    ('bathroom', 'Clean the bathroom'), ('toilet', 'Clean the toilet'),
    ('windows', 'Clean the windows'), ('fridge', 'Clean the fridge'), ('oven', 'Clean the oven'),
    ('laundry', 'Do the laundry'), ('beds', 'Change the sheets'), ('plants', 'Water the plants'),
    ('pets', 'Feed the pets'), ('cook', 'Cook dinner'), ('groceries', 'Buy groceries'),
    ('mail', 'Bring in the mail'), ('lawn', 'Mow the lawn'), ('snow', 'Shovel the snow')
) AS c (code, title);

-- A chore without a day is open until somebody does it.
ALTER TABLE household.chores
    ALTER starts_on DROP NOT NULL,
    ADD CONSTRAINT chores_without_day CHECK (starts_on IS NOT NULL
        OR mode = 'calendar' AND rule IS NULL AND at_time IS NULL AND next_on IS NULL);
ALTER TABLE household.occurrences
    -- Of a chore without a day, the day on which it was done.
    ALTER due_on DROP NOT NULL,
    ALTER due_at DROP NOT NULL,
    ADD CONSTRAINT occurrences_without_day CHECK (due_at IS NOT NULL AND due_on IS NOT NULL
        OR state NOT IN ('overdue', 'missed') AND remind_at IS NULL AND due_at IS NULL),
    -- What who has done it says about it, and where the app keeps a picture.
    ADD words text CHECK (length(words) BETWEEN 1 AND 500),
    ADD picture text CHECK (length(picture) BETWEEN 1 AND 500);

ALTER TABLE household.notes
    ALTER body DROP NOT NULL,
    -- Where the app keeps it.
    ADD picture text CHECK (length(picture) BETWEEN 1 AND 500),
    ADD CONSTRAINT notes_content CHECK (body IS NOT NULL OR picture IS NOT NULL);

-- What was added by requests that may be repeated; bills and payments have their own.
CREATE TABLE household.requests (
    group_id bigint NOT NULL REFERENCES household.groups,
    -- What was made: the id of a chore, item or note.
    made bigint NOT NULL,
    at timestamptz NOT NULL,
    request_id text COLLATE "C" NOT NULL CHECK (length(request_id) BETWEEN 1 AND 100),
    -- What was asked for with it.
    request bytea NOT NULL,
    PRIMARY KEY (group_id, request_id)
);
CREATE INDEX requests_at ON household.requests (at);

-- The payments of one person, the newest first.
CREATE INDEX payments_from ON household.payments (from_id, id);
CREATE INDEX payments_to ON household.payments (to_id, id);
