-- Chores, whose turn they are, and their occurrences.

CREATE TABLE household.chores (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_id bigint NOT NULL REFERENCES household.groups,
    created_by bigint NOT NULL REFERENCES people.people,
    created_at timestamptz NOT NULL,
    -- The next occurrence, and when it is taken; both null while a job finds them out, while one
    -- that counts from its completion waits for it, and when there is none any more.
    next_at timestamptz,
    next_on date CHECK ((next_on IS NULL) = (next_at IS NULL)),
    starts_on date NOT NULL,
    -- When on its day it is due; null: by the end of it.
    at_time time CHECK (at_time < '24:00'),
    -- Raised by each change that makes what a job has found out worthless.
    plan int NOT NULL DEFAULT 1,
    -- The job that finds out the next occurrence; null once it is known.
    plan_job bigint,
    -- How many occurrences were taken.
    taken int NOT NULL DEFAULT 0,
    -- Days from the completion to the next; only where mode is after_done.
    after_days smallint CHECK (after_days BETWEEN 1 AND 3650),
    -- Whether a turn that is skipped counts as taken.
    does_skip_count boolean NOT NULL DEFAULT false,
    -- Whether who moves in takes part.
    is_for_all boolean NOT NULL DEFAULT true,
    is_removed boolean NOT NULL DEFAULT false,
    mode text COLLATE "C" NOT NULL DEFAULT 'calendar' CHECK (mode IN ('calendar', 'after_done')),
    -- RRULE of RFC 5545 without its name; null: once.
    rule text COLLATE "C" CHECK (length(rule) BETWEEN 1 AND 500 AND rule !~ '[[:cntrl:]]'),
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND title !~ '[[:cntrl:]]'),
    -- Why it does not come any more.
    fault text CHECK (length(fault) BETWEEN 1 AND 500),
    CHECK ((mode = 'after_done') = (after_days IS NOT NULL)),
    CHECK (mode = 'calendar' OR rule IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX chores_next ON household.chores (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX chores_group ON household.chores (group_id, id) WHERE NOT is_removed;
CREATE INDEX chores_faulty ON household.chores (group_id) WHERE fault IS NOT NULL;
CREATE INDEX chores_plan_job ON household.chores (plan_job) WHERE plan_job IS NOT NULL;

-- Who takes turns, in the order of position.
--
-- The next turn is that of the present person who has had the fewest; of equals, of the first by
-- position. So all who are present have had as many turns as each other or one more, always; who
-- was away has had fewer, and makes up for it later; a new member begins with the number that
-- who has the fewest. While nobody comes, goes or is away that is the plain order again and again.
CREATE TABLE household.turns (
    chore_id bigint NOT NULL REFERENCES household.chores,
    person_id bigint NOT NULL REFERENCES people.people,
    position int NOT NULL,
    -- Had since the beginning, or as if they had been there since then.
    turns int NOT NULL,
    PRIMARY KEY (chore_id, person_id)
) WITH (fillfactor = 70);

CREATE TYPE household.occurrence_state AS ENUM (
    'due', 'overdue',
    'done',
    'skipped',  -- by choice
    'missed',   -- the next one came before it was done
    'dropped'); -- the chore was taken off

CREATE TABLE household.occurrences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chore_id bigint NOT NULL REFERENCES household.chores,
    group_id bigint NOT NULL,
    -- Null when nobody was there, or when its day was over before it could be given to anybody.
    assignee_id bigint REFERENCES people.people,
    -- Whose turn it would have been, had they not been away, or had nobody stepped in.
    instead_of bigint REFERENCES people.people,
    done_by bigint REFERENCES people.people,
    due_at timestamptz NOT NULL,
    done_at timestamptz,
    -- When it was done, skipped, or missed.
    ended_at timestamptz,
    -- When it is overdue, and when its assignee is notified, or reminded.
    remind_at timestamptz,
    -- Nobody is notified before that it is overdue.
    remind_from timestamptz NOT NULL,
    due_on date NOT NULL,
    -- Of the chore, from 1.
    number int NOT NULL,
    reminders smallint NOT NULL DEFAULT 0,
    state household.occurrence_state NOT NULL DEFAULT 'due',
    CONSTRAINT occurrences_day UNIQUE (chore_id, due_on),
    CHECK ((state = 'done') = (done_by IS NOT NULL AND done_at IS NOT NULL)),
    CHECK (remind_at IS NULL OR state IN ('due', 'overdue'))
) WITH (fillfactor = 80);
CREATE INDEX occurrences_open ON household.occurrences (chore_id)
    WHERE state IN ('due', 'overdue');
CREATE INDEX occurrences_remind ON household.occurrences (remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX occurrences_history ON household.occurrences (group_id, due_on);

-- Known before the first worker has said so.
INSERT INTO errand.kinds (kind, args_version, queue, priority, max_attempts)
VALUES ('household.notify', 1, 'household', 1, 50), ('household.plan', 1, 'household', 1, 20),
    ('household.chores', 1, 'household', 1, 5), ('household.balances', 1, 'household', 1, 5),
    ('household.sweep', 1, 'household', 1, 5), ('household.zones', 1, 'household', 1, 5);
