-- Blocked and erased people, and how long coupons are kept.

ALTER TABLE coupons.coupons
    -- Voided because its person is blocked; valid again if the person is kept.
    ADD is_suspended boolean NOT NULL DEFAULT false,
    ADD CHECK (voided_at IS NOT NULL OR NOT is_suspended);
-- Coupons by their end, for the retention.
CREATE INDEX coupons_ended ON coupons.coupons ((coalesce(redeemed_at, voided_at, expired_at)))
    WHERE coalesce(redeemed_at, voided_at, expired_at) IS NOT NULL;

INSERT INTO people.holders VALUES ('coupons', 40, true);
INSERT INTO people.retention_rules (name, module, routine, keep, description) VALUES
    ('coupons.ended', 'coupons', 'forget_ended', '24 months',
        'coupons that were redeemed, voided or expired; redemptions are kept without the person'),
    ('coupons.positions', 'coupons', 'forget_positions', '24 hours',
        'position reports that no worker has processed; the others are dropped with their day');
