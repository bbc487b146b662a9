-- The privileges in the schema votes.

SELECT errand.grant_rights('votes', '{
    "votes": ["password_hash"],
    "keys": ["sealed"],
    "open_keys": ["cipher_key", "mac_key", "password_mac"],
    "casts": ["sealed"],
    "ballots": ["nonce"],
    "participants": ["address"]
}');

-- Only operators change settings.
REVOKE INSERT, UPDATE, DELETE ON votes.rules FROM errand_worker;
-- Append-only; triggers refuse changes by the owner as well.
REVOKE UPDATE, DELETE ON votes.ballots, votes.nodes FROM errand_worker;
GRANT EXECUTE ON FUNCTION votes.has_password(bigint) TO errand_worker, errand_inspector;
GRANT EXECUTE ON FUNCTION votes.verify_receipt(text) TO errand_inspector;

GRANT USAGE ON SCHEMA votes TO errand_app;
GRANT EXECUTE ON FUNCTION
    votes.open(text, text[], bigint, timestamptz, timestamptz, int, text, double precision,
        double precision, text, int),
    votes.nearby(double precision, double precision, double precision, int),
    votes.show(bigint),
    votes.join(bigint, bigint, text, text, text),
    votes.cast(bigint, bigint, int[], text, bytea),
    votes.cancel(bigint, bigint),
    votes.exceptions(bigint, bigint),
    votes.resolve(bigint, bigint, text, text, bigint[], text),
    votes.history(bigint, int),
    votes.result(bigint),
    votes.names(bigint, int, int),
    votes.proof(bigint, bytea),
    votes.verify_receipt(text),
    votes.erase(bigint, bigint)
TO errand_app;
