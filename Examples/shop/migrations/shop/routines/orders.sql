-- Creates an order and the job that confirms it, in one transaction, and returns the order's id.
-- It is SECURITY DEFINER because the servers that call it have no right to write orders, nor to
-- enqueue this kind by themselves.
CREATE OR REPLACE FUNCTION shop.place_order() RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    placed bigint;
BEGIN
    INSERT INTO shop.orders DEFAULT VALUES RETURNING id INTO placed;
    PERFORM errand.enqueue_own('order.confirm', jsonb_build_object('orderID', placed));
    RETURN placed;
END $$;
