-- Invitations that were declined.

ALTER TABLE accounts.links DROP CONSTRAINT links_end_reason_check,
    ADD CONSTRAINT links_end_reason_check CHECK (
        end_reason IN ('used', 'replaced', 'address_changed', 'withdrawn', 'declined'));

-- By whom the owner of an address wants not to be invited.
CREATE TABLE accounts.declined (
    inviter_id bigint NOT NULL REFERENCES people.people,
    -- SHA-256 of the address, as it is only compared.
    address_hash bytea NOT NULL CHECK (length(address_hash) = 32),
    declined_at timestamptz NOT NULL,
    PRIMARY KEY (inviter_id, address_hash)
);
CREATE INDEX declined_address ON accounts.declined (address_hash);
CREATE INDEX declined_age ON accounts.declined (declined_at);
ALTER TABLE accounts.declined ALTER address_hash SET STATISTICS 0;

INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('accounts.declined', 'accounts', 'forget_declined', '13 months',
        'by whom the owner of an address wants not to be invited, since the decline');
