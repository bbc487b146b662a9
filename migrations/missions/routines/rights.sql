-- Privileges in the schema missions.

SELECT errand.grant_rights('missions', '{
    "shoppers": ["home"],
    "steps": ["content"],
    "flags": ["reason"]
}');

-- Only operators change settings, and only the servers of apps promise coupons.
REVOKE INSERT, UPDATE, DELETE ON missions.rules, missions.rewards FROM errand_worker;
GRANT EXECUTE ON FUNCTION missions.has_home(bigint) TO errand_worker, errand_inspector;

GRANT USAGE ON SCHEMA missions TO errand_app;
GRANT EXECUTE ON FUNCTION
    missions.record_review(bigint, text, boolean, timestamptz),
    missions.raise_flag(bigint, text),
    missions.clear_flag(bigint),
    missions.set_shopper(bigint, double precision, double precision, real, int, bigint, bigint[],
        timestamptz),
    missions.leave(bigint),
    missions.come_back(bigint),
    missions.standing(bigint),
    missions.open_mission(bigint, text, timestamptz, timestamptz, bigint, bigint, jsonb, text, int,
        text, real, real, int, int, boolean, text, text, jsonb),
    missions.cancel_mission(bigint, text),
    missions.lock_mission(bigint, boolean),
    missions.listing(bigint),
    missions.done(bigint, bigint, int),
    missions.accept(bigint, bigint),
    missions.decline(bigint, bigint, text),
    missions.arrive(bigint, bigint, double precision, double precision, double precision),
    missions.checklist(bigint, bigint),
    missions.finish_step(bigint, bigint, int, jsonb),
    missions.submit(bigint, bigint, text)
TO errand_app;
