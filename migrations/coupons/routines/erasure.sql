-- Blocked and erased people, what is known of a person, and how long coupons are kept; see
-- people.holders and people.retention_rules.

-- Voids the live coupons of a blocked person, until the erasure deletes them. So the tills need
-- no check of their own.
CREATE OR REPLACE FUNCTION coupons.block(person bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE coupons.coupons c
    SET voided_at = clock_timestamp(), voided_reason = 'the person is blocked', is_suspended = true
    WHERE c.person_id = person AND c.redeemed_at IS NULL AND c.voided_at IS NULL
      AND c.expired_at IS NULL
$$;

-- Makes the suspended coupons of a person valid again who is no longer blocked.
CREATE OR REPLACE FUNCTION coupons.unblock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE coupons.coupons c
    SET voided_at = NULL, voided_reason = NULL, is_suspended = false
    WHERE c.person_id = NEW.id AND c.voided_at IS NOT NULL AND c.is_suspended;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER people_unblocked_coupons AFTER UPDATE OF blocked_at ON people.people
    FOR EACH ROW WHEN (OLD.blocked_at IS NOT NULL AND NEW.blocked_at IS NULL)
    EXECUTE FUNCTION coupons.unblock();

-- Deletes coupons, and what a till said of itself when it redeemed them. The rest of a redemption
-- stays for the establishment: when, where, and its confirmation. Returns how many of each.
CREATE OR REPLACE FUNCTION coupons.delete_coupons(
    ids bigint[], OUT coupons bigint, OUT redemptions bigint
) LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM coupons.coupons c WHERE c.id = ANY (ids) RETURNING c.id
    ), anonymized AS (
        UPDATE coupons.redemptions r SET request_id = '', code_hash = ''
        WHERE r.coupon_id = ANY (ids) AND r.request_id <> '' RETURNING r.coupon_id
    )
    SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM anonymized)
$$;

-- Deletes all that is known of a person.
CREATE OR REPLACE FUNCTION coupons.erase(person bigint)
RETURNS TABLE (object text, action text, rows bigint, reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    gone record;
BEGIN
    gone := coupons.delete_coupons(ARRAY(
        SELECT c.id FROM coupons.coupons c WHERE c.person_id = person ORDER BY c.id));
    RETURN QUERY VALUES
        ('coupons.coupons', 'deleted', gone.coupons, NULL),
        ('coupons.redemptions', 'anonymized', gone.redemptions,
            'the establishment''s proof of a redemption; nothing in it leads to a person');
END $$;

-- Returns all that is known of a person.
CREATE OR REPLACE FUNCTION coupons.personal_data(person bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'coupons', coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'title', c.title,
            'establishment', e.name, 'origin', c.origin, 'valid_from', c.valid_from,
            'expires_at', c.expires_at, 'starred_at', c.starred_at, 'redeemed_at', c.redeemed_at,
            'voided_at', c.voided_at, 'voided_reason', c.voided_reason) ORDER BY c.id), '[]'),
        'redemptions', coalesce(jsonb_agg(jsonb_build_object('coupon', r.coupon_id,
            'redeemed_at', r.redeemed_at, 'establishment', e.name, 'terminal', r.terminal,
            'confirmation', r.confirmation) ORDER BY r.coupon_id)
            FILTER (WHERE r.coupon_id IS NOT NULL), '[]'))
    FROM coupons.coupons c
    JOIN establishments.establishments e ON e.id = c.establishment_id
    LEFT JOIN coupons.redemptions r ON r.coupon_id = c.id
    WHERE c.person_id = person
$$;

-- Deletes coupons that ended before a time.
CREATE OR REPLACE FUNCTION coupons.forget_ended(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM coupons.coupons c
            WHERE coalesce(c.redeemed_at, c.voided_at, c.expired_at) < before
            LIMIT max_rows) AS old);
    END IF;
    RETURN (coupons.delete_coupons(ARRAY(
        SELECT c.id FROM coupons.coupons c
        WHERE coalesce(c.redeemed_at, c.voided_at, c.expired_at) < before
        ORDER BY coalesce(c.redeemed_at, c.voided_at, c.expired_at) LIMIT max_rows
        FOR UPDATE SKIP LOCKED))).coupons;
END $$;

-- Cancels position reports that wait since before a time for a worker, and deletes the positions.
CREATE OR REPLACE FUNCTION coupons.forget_positions(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(
        SELECT j.id FROM errand.kinds k JOIN errand.jobs j ON j.queue = k.queue AND j.kind = k.kind
        WHERE k.kind = 'coupons.position' AND j.run_at < before AND j.created_at < before
          AND j.claimed_by IS NULL
        LIMIT max_rows);
BEGIN
    IF only_count THEN
        RETURN cardinality(ids);
    END IF;
    RETURN errand.cancel_unclaimed(ids, 'the position is too old', 1);
END $$;
