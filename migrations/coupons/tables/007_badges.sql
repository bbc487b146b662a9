-- Used coupons count for badges; see coupons.deeds.
INSERT INTO badges.sources VALUES ('coupons', 'coupon_used', 'deeds');
