-- Erasure of people, and how long rows are kept.

-- All devices of a person, also the disabled ones.
DROP INDEX notification.devices_person;
CREATE INDEX devices_person ON notification.devices (person_id);
CREATE INDEX notices_sender ON notification.notices (sender_id) WHERE sender_id IS NOT NULL;
CREATE INDEX inbox_items_read ON notification.inbox_items (read_at) WHERE read_at IS NOT NULL;

-- Up to which notice the facts were deleted. An index for it would slow every notice down.
CREATE TABLE notification.progress (
    bared_to bigint NOT NULL DEFAULT 0,
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO notification.progress DEFAULT VALUES;

INSERT INTO people.holders VALUES ('notification', 80, false);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('notification.facts', 'notification', 'bare_notices', '90 days',
        'the facts of notices; the notices are kept without them'),
    ('notification.deliveries', 'notification', 'forget_deliveries', '90 days',
        'deliveries of notices, with the providers'' answers'),
    ('notification.inbox_read', 'notification', 'forget_read_items', '90 days',
        'items of inboxes that were read'),
    ('notification.direct_mails', 'notification', 'forget_direct_mails', '90 days',
        'mails to people without an account; their address is deleted when they end'),
    ('notification.notices', 'notification', 'forget_notices', '13 months',
        'notices, with their unread items of inboxes');
