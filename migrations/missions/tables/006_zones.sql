-- A function of the engine, errand.is_zone, checks time zones for all modules.
DROP FUNCTION IF EXISTS missions.is_zone(text);
