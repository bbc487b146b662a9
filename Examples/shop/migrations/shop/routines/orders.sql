-- Takes an order: its row and the job that confirms it are one transaction. Returns its id.
-- Servers call it, which may not write orders: hence SECURITY DEFINER.
CREATE OR REPLACE FUNCTION shop.place_order() RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    placed bigint;
BEGIN
    INSERT INTO shop.orders DEFAULT VALUES RETURNING id INTO placed;
    PERFORM errand.enqueue('order.confirm', jsonb_build_object('orderID', placed));
    RETURN placed;
END $$;
