CREATE SCHEMA shop;
CREATE TABLE shop.orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    placed_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz
);
