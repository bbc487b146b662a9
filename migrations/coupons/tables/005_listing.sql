-- Indexes for what people read of their coupons.

-- Live coupons by person in the order of their list: starred ones first, then by expiry. A list
-- reads as many rows as it returns. Its keys are too wide for the searches by coupons_live.
CREATE INDEX coupons_listed ON coupons.coupons
    (person_id, ((starred_at IS NULL)::int), expires_at, id)
    WHERE redeemed_at IS NULL AND voided_at IS NULL AND expired_at IS NULL;
-- Voided coupons by person, latest first: a list shows the recent ones with their reason.
CREATE INDEX coupons_voided ON coupons.coupons (person_id, voided_at, id)
    WHERE voided_at IS NOT NULL;

-- It returns more columns now.
DROP FUNCTION IF EXISTS coupons.listing(bigint, int);
