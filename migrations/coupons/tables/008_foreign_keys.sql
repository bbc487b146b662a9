-- Establishments and people are never deleted, and grants read theirs. Foreign keys would look them
-- up again and lock their rows for each coupon: thousands of grants of one establishment a second
-- would share that lock.
ALTER TABLE coupons.coupons
    DROP CONSTRAINT coupons_establishment_id_fkey, DROP CONSTRAINT coupons_person_id_fkey;
