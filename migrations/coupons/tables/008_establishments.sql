-- Establishments are never deleted, and grants read theirs. A foreign key would lock its row for
-- each coupon: thousands of grants of one establishment a second would share that lock.
ALTER TABLE coupons.coupons DROP CONSTRAINT coupons_establishment_id_fkey;
