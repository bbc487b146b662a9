-- What people did, for the recount of badges; see badges.sources.

-- How many coupons the people with an id above after, up to until, have used.
CREATE OR REPLACE FUNCTION coupons.deeds(deed text, after bigint, until bigint)
RETURNS TABLE (person_id bigint, establishment_id bigint, deeds bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT c.person_id, c.establishment_id, count(*)
    FROM coupons.coupons c
    WHERE deed = 'coupon_used' AND c.redeemed_at IS NOT NULL
      AND c.person_id > after AND c.person_id <= until
    GROUP BY 1, 2;
END $$;
