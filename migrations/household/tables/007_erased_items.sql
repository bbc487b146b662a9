-- All items of a group, whatever became of them, for erasures.
CREATE INDEX items_group ON household.items (group_id);
