-- votes.moving_gate() replaces it.
DROP FUNCTION IF EXISTS votes.gate_at(bigint, int, bigint);
