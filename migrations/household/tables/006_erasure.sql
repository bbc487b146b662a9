-- Erasure of members, and how long rows are kept.

-- The others see "former room-mate"; what they owe and are owed stays.
ALTER TABLE household.members ADD is_erased boolean NOT NULL DEFAULT false;

CREATE INDEX invitations_inviter ON household.invitations (inviter_id);
CREATE INDEX invitations_invitee ON household.invitations (invitee_id);
CREATE INDEX invitations_ended ON household.invitations (ended_at) WHERE state <> 'sent';
CREATE INDEX items_removed ON household.items (added_at) WHERE state = 'removed';
CREATE INDEX turns_person ON household.turns (person_id);
-- Those that were removed, too.
CREATE INDEX chores_ever ON household.chores (group_id);

INSERT INTO people.holders VALUES ('household', 20, true);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('household.invitations', 'household', 'forget_invitations', '90 days',
        'invitations that were answered, withdrawn or not answered in time'),
    ('household.items', 'household', 'forget_items', '365 days',
        'items that were taken off a shopping list and never bought'),
    ('household.requests', 'household', 'forget_requests', '30 days',
        'ids of requests, by which a repeated one is known'),
    ('household.sessions', 'household', 'forget_sessions', '90 days',
        'sessions that failed to prove whose they are');
