-- The privileges in the schema votes.

SELECT errand.grant_rights('votes', '{
    "votes": ["password_hash"],
    "keys": ["sealed"],
    "ballots": ["nonce"],
    "participants": ["address"]
}');

-- Workers and operators change votes by functions only, which run with their owner's rights.
REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA votes FROM errand_worker;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA votes FROM errand_worker;
-- To seal them with another key: 'errand key rotate'.
GRANT UPDATE (sealed) ON votes.keys TO errand_worker;
-- What leads from a person to a choice while a vote is open, and what locks.
REVOKE ALL ON votes.casts, votes.open_keys, votes.key_shares, votes.wrapping, votes.gates,
    votes.guesses, votes.locks FROM errand_worker, errand_inspector;

-- The steps of the jobs.
GRANT EXECUTE ON FUNCTION
    votes.close(bigint, boolean),
    votes.close_free(bigint[]),
    votes.sweep(),
    votes.ask_for_news(),
    votes.review_step(bigint, timestamptz),
    votes.end_review(bigint, timestamptz, boolean),
    votes.count_ballots(bigint),
    votes.may_notify(bigint),
    votes.rotate_wrapping_key(),
    votes.destroy_keys(),
    votes.has_counted_key(bigint),
    votes.publish(bigint),
    votes.missing_keys(int),
    votes.add_key(bigint, bytea, bytea, bytea),
    votes.closed_keys(bigint, int),
    votes.open_key(bigint, bytea, bytea),
    votes.forget_key(bigint)
TO errand_worker;
-- Operators.
GRANT EXECUTE ON FUNCTION
    votes.decide(bigint, text, bigint[], text, text),
    votes.forget(bigint, bigint)
TO errand_worker;
GRANT EXECUTE ON FUNCTION votes.has_password(bigint), votes.key_counts(), votes.lost_votes(),
    votes.key_holders(interval)
TO errand_worker, errand_inspector;
GRANT EXECUTE ON FUNCTION votes.verify_receipt(text) TO errand_worker, errand_inspector;

GRANT USAGE ON SCHEMA votes TO errand_app;
GRANT EXECUTE ON FUNCTION
    votes.open(text, text[], bigint, timestamptz, timestamptz, int, text, double precision,
        double precision, text, int, text, boolean, text),
    votes.nearby(double precision, double precision, double precision, int),
    votes.show(bigint),
    votes.standing(bigint, bigint),
    votes.joined_names(bigint, bigint, int, int),
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
    votes.forget(bigint, bigint)
TO errand_app;
