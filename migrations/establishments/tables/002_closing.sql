-- Closed establishments and branches, and the indexes of what apps read.

-- A closed establishment accepts no new coupons and missions. Both kinds stay, as coupons,
-- missions and the ledger refer to them.
ALTER TABLE establishments.establishments ADD closed_at timestamptz;
ALTER TABLE establishments.branches ADD closed_at timestamptz;

-- The branches of an establishment, by id.
CREATE INDEX branches_establishment ON establishments.branches (establishment_id, id);
-- The open branches near a place, of all establishments.
CREATE INDEX branches_place ON establishments.branches USING gist (place)
    WHERE closed_at IS NULL;
