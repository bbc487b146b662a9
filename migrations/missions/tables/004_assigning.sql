-- Whose row is locked by the one assignment that runs. Not an advisory lock, which any login may
-- hold.
CREATE TABLE missions.assigning (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO missions.assigning DEFAULT VALUES;
