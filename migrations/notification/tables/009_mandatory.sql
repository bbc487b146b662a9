-- Kinds of notice that each person gets, such as changed terms: in the day as normal ones, but
-- whatever the person has turned off or muted.

ALTER TABLE notification.kinds ADD is_mandatory boolean NOT NULL DEFAULT false;
