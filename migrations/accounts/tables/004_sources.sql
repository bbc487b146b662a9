-- accounts.lock_source(text, timestamptz) locks a row instead of an advisory lock.
DROP FUNCTION IF EXISTS accounts.lock_source(text);
COMMENT ON TABLE accounts.addresses IS
    'One row for each address, caller and inviter with a recent request, the latter two as a hash';
