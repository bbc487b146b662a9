-- Blocked and erased people, and how long names of payees are kept.

-- Asks for more facts now; see routines/chunks.sql.
DROP FUNCTION IF EXISTS payouts.lack(boolean, date, timestamptz, text);

-- The items of a person, and those that still name their payee.
CREATE INDEX items_person ON payouts.items (person_id);
CREATE INDEX items_named ON payouts.items (file_id, payout_id) WHERE payee <> '';

INSERT INTO people.holders VALUES ('payouts', 50, true);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('payouts.payees', 'payouts', 'forget_payees', '7 years',
        'names, addresses and bank details in issued files: the term of the books');
