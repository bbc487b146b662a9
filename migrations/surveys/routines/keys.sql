-- The keys of the codes on receipts: made, opened and rotated by workers, which have the key that
-- seals them.

-- Enqueues the job that makes and opens keys; of concurrent callers only the first does. The row
-- is locked no longer than the caller's transaction.
CREATE OR REPLACE FUNCTION surveys.ask_for_keys() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM surveys.key_requests FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM errand.enqueue_own('surveys.keys', unique_key => 'asked');
    END IF;
END $$;

-- The establishments that need a first key, with its version: those with an open survey for
-- receipts and no current key.
CREATE OR REPLACE FUNCTION surveys.missing_keys(max_rows int DEFAULT 1000)
RETURNS TABLE (establishment_id bigint, version int) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT s.establishment_id, 1 + coalesce((SELECT max(k.version)
        FROM surveys.receipt_keys k WHERE k.establishment_id = s.establishment_id), 0)
    FROM surveys.surveys s
    WHERE s.for_receipts AND s.closed_at IS NULL AND NOT EXISTS (
        SELECT FROM surveys.receipt_keys k
        WHERE k.establishment_id = s.establishment_id AND k.retired_at IS NULL)
    ORDER BY s.establishment_id LIMIT max_rows;
END $$;

-- The sealed keys behind one that PostgreSQL has not open, by establishment and version.
CREATE OR REPLACE FUNCTION surveys.closed_keys(
    max_rows int DEFAULT 1000, after_establishment bigint DEFAULT 0, after_version int DEFAULT 0
) RETURNS TABLE (establishment_id bigint, version int, sealed bytea) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT k.establishment_id, k.version, k.sealed
    FROM surveys.receipt_keys k
    LEFT JOIN surveys.open_receipt_keys o USING (establishment_id, version)
    WHERE o.version IS NULL AND (k.good_until > clock_timestamp()) IS NOT FALSE
      AND (k.establishment_id, k.version) > (after_establishment, after_version)
    ORDER BY k.establishment_id, k.version LIMIT max_rows;
END $$;

-- Keeps a key that a worker made, and opens it; false if another worker made this version. The
-- codes of the key before are accepted for rules.keys_kept, or no longer with at_once.
CREATE OR REPLACE FUNCTION surveys.put_key(
    establishment bigint, version int, sealed bytea, inner_block bytea, outer_block bytea,
    at_once boolean DEFAULT false
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    good_until timestamptz;
BEGIN
    PERFORM FROM establishments.establishments e WHERE e.id = establishment FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
    END IF;
    IF version <> 1 + coalesce((SELECT max(k.version) FROM surveys.receipt_keys k
        WHERE k.establishment_id = establishment), 0) THEN
        RETURN false;
    END IF;
    good_until := CASE WHEN at_once THEN at
        ELSE at + (SELECT r.keys_kept FROM surveys.rules r) END;
    UPDATE surveys.receipt_keys k
    SET retired_at = coalesce(k.retired_at, at), good_until = least(k.good_until, good_until)
    WHERE k.establishment_id = establishment AND (at_once OR k.retired_at IS NULL);
    UPDATE surveys.open_receipt_keys o SET good_until = least(o.good_until, good_until)
    WHERE o.establishment_id = establishment;
    INSERT INTO surveys.receipt_keys (establishment_id, version, sealed)
    VALUES (establishment, version, sealed);
    PERFORM surveys.open_key(establishment, version, inner_block, outer_block);
    RETURN true;
END $$;

-- Opens a key; needs the row of its sealed form.
CREATE OR REPLACE FUNCTION surveys.open_key(
    establishment bigint, version int, inner_block bytea, outer_block bytea
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO surveys.open_receipt_keys
        (establishment_id, version, good_until, inner_block, outer_block)
    SELECT k.establishment_id, k.version, coalesce(k.good_until, 'infinity'), inner_block,
        outer_block
    FROM surveys.receipt_keys k
    -- Waits for a rotation that retires the key now.
    WHERE k.establishment_id = establishment AND k.version = version FOR SHARE
    ON CONFLICT ON CONSTRAINT open_receipt_keys_pkey DO UPDATE
    SET good_until = excluded.good_until, inner_block = excluded.inner_block,
        outer_block = excluded.outer_block;
END $$;

-- Deletes the keys whose codes are accepted no more; returns how many.
CREATE OR REPLACE FUNCTION surveys.delete_keys(at timestamptz DEFAULT clock_timestamp())
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    deleted bigint;
BEGIN
    DELETE FROM surveys.open_receipt_keys o WHERE o.good_until <= at;
    -- The latest stays, as it counts the versions.
    DELETE FROM surveys.receipt_keys k WHERE k.good_until <= at;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END $$;
