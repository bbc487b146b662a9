-- Workers and operators.
SELECT errand.grant_rights('shop');
-- The shop's servers place orders, but cannot read them.
GRANT USAGE ON SCHEMA shop TO errand_app;
GRANT EXECUTE ON FUNCTION shop.place_order() TO errand_app;
