-- How long people are kept with their answers and invitations; see people.retention_rules.

-- Takes the person from answers that were completed before a time.
CREATE OR REPLACE FUNCTION surveys.forget_people(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM surveys.completions c
            WHERE c.completed_at < before AND c.person_id IS NOT NULL LIMIT max_rows) AS old);
    END IF;
    RETURN surveys.anonymize_answers(ARRAY(
        SELECT c.invitation_id FROM surveys.completions c
        WHERE c.completed_at < before AND c.person_id IS NOT NULL
        ORDER BY c.completed_at LIMIT max_rows FOR UPDATE SKIP LOCKED));
END $$;

-- Takes the person from invitations that ended before a time.
CREATE OR REPLACE FUNCTION surveys.forget_invited(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (
            SELECT FROM surveys.invitations i
            WHERE i.expires_at < before AND i.person_id IS NOT NULL LIMIT max_rows) AS old);
    END IF;
    RETURN surveys.anonymize_invitations(ARRAY(
        SELECT i.id FROM surveys.invitations i
        WHERE i.expires_at < before AND i.person_id IS NOT NULL
        ORDER BY i.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED));
END $$;

-- Deletes the hashes of receipts whose invitations ended before a time: they are too old by then.
CREATE OR REPLACE FUNCTION surveys.forget_receipts(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    rows bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM surveys.receipts r
            WHERE r.expires_at < before LIMIT max_rows) AS old);
    END IF;
    DELETE FROM surveys.receipts d USING (
        SELECT r.hash FROM surveys.receipts r WHERE r.expires_at < before
        ORDER BY r.expires_at LIMIT max_rows FOR UPDATE SKIP LOCKED
    ) AS old WHERE d.hash = old.hash;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN rows;
END $$;

-- Deletes what people scanned on days before a time.
CREATE OR REPLACE FUNCTION surveys.forget_scan_days(
    before timestamptz, max_rows int, only_count boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    last CONSTANT date := (before AT TIME ZONE 'UTC')::date - 1;
    rows bigint;
BEGIN
    IF only_count THEN
        RETURN (SELECT count(*) FROM (SELECT FROM surveys.scan_days d
            WHERE d.day < last LIMIT max_rows) AS old);
    END IF;
    DELETE FROM surveys.scan_days d USING (
        SELECT o.person_id FROM surveys.scan_days o WHERE o.day < last
        ORDER BY o.day LIMIT max_rows FOR UPDATE SKIP LOCKED
    ) AS old WHERE d.person_id = old.person_id AND d.day < last;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN rows;
END $$;
