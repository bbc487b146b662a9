-- Receipts: reading their codes, and the invitations that they give.
--
-- The text of a receipt's QR code is ER1.ESTABLISHMENT.BRANCH.NUMBER.TIME.MAC, where TIME is that
-- of the purchase in seconds since 1970, and MAC the first 80 bits of HMAC-SHA-256 of all before
-- its dot, in hexadecimal. See docs/modules/surveys.md.

-- The end of the day, in a time zone, that is some days after the day of a time.
CREATE OR REPLACE FUNCTION surveys.end_of_day(at timestamptz, days int, zone text)
RETURNS timestamptz LANGUAGE sql STABLE
RETURN ((at AT TIME ZONE zone)::date + days + 1)::timestamp AT TIME ZONE zone;

-- Whether a text is a number of up to some digits, without zeros before.
CREATE OR REPLACE FUNCTION surveys.is_number(written text, digits int) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN length(written) BETWEEN 1 AND digits AND translate(written, '0123456789', '') = ''
    AND left(written, 1) <> '0';

-- The parts of a code: establishment, branch, number, time and MAC; null if it has another form. A
-- regular expression would take a fifth of the time of a scan.
CREATE OR REPLACE FUNCTION surveys.code_parts(plain text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    p CONSTANT text[] := string_to_array(plain, '.');
BEGIN
    IF cardinality(p) = 6 AND p[1] = 'ER1' AND surveys.is_number(p[2], 18)
        AND surveys.is_number(p[3], 18) AND length(p[4]) BETWEEN 1 AND 40
        AND translate(p[4], 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-', '') = ''
        AND surveys.is_number(p[5], 11)
        AND length(p[6]) = 20 AND translate(p[6], '0123456789ABCDEF', '') = '' THEN
        RETURN p[2:6];
    END IF;
    RETURN NULL;
END $$;

-- Whether the MAC of a code is that of an open key of the establishment; null if it has none.
-- Compares hashes, because a comparison stops at the first different byte.
CREATE OR REPLACE FUNCTION surveys.is_genuine(
    establishment bigint, message text, mac text, at timestamptz
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT bool_or(sha256(decode(mac, 'hex'))
            = sha256(substr(coupons.mac(k.inner_block, k.outer_block,
                convert_to(message, 'UTF8')), 1, 10)))
        FROM surveys.open_receipt_keys k
        WHERE k.establishment_id = establishment AND k.good_until > at);
END $$;

CREATE OR REPLACE FUNCTION surveys.refusal(reason text) RETURNS surveys.invited
LANGUAGE sql IMMUTABLE
RETURN ROW (reason, NULL, NULL, NULL, NULL, NULL)::surveys.invited;

CREATE OR REPLACE FUNCTION surveys.expect_request(routine text, request_id text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM errand.expect(length(request_id) BETWEEN 1 AND 100, routine || ': expected a '
        'request_id of 1 to 100 characters, the same for a repeated request');
END $$;

-- The invitation that a request gave before.
CREATE OR REPLACE FUNCTION surveys.known_request(person bigint, request_id text)
RETURNS surveys.invitations LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    found surveys.invitations;
BEGIN
    SELECT * INTO found FROM surveys.invitations i
    WHERE i.person_id = person AND i.request_id = request_id;
    RETURN found;
END $$;

CREATE OR REPLACE FUNCTION surveys.answer_of(given surveys.invitations) RETURNS surveys.invited
LANGUAGE sql IMMUTABLE
RETURN ROW ('ok', given.id, given.survey_id, given.version, given.establishment_id,
    given.expires_at)::surveys.invited;

-- Counts a wrong code of a person on a day.
CREATE OR REPLACE FUNCTION surveys.count_wrong(person bigint, today date) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO surveys.scan_days AS d (person_id, day, wrong) VALUES (person, today, 1)
    ON CONFLICT ON CONSTRAINT scan_days_pkey DO UPDATE
    SET wrong = CASE WHEN d.day >= excluded.day THEN d.wrong + 1 ELSE 1 END,
        branches = CASE WHEN d.day >= excluded.day THEN d.branches ELSE '{}' END,
        day = greatest(d.day, excluded.day);
END $$;

-- Makes the invitation of a receipt, once, and counts it for the person, in one statement; null if
-- the receipt is used, or the person has reached a limit.
CREATE OR REPLACE FUNCTION surveys.make_invitation(
    i surveys.invitations, hash bytea, today date, max_scans int, max_of_branch int
) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    made bigint;
BEGIN
    WITH receipt AS (
        INSERT INTO surveys.receipts (hash, invitation_id, expires_at)
        VALUES (hash, nextval('surveys.invitations_id_seq'), i.expires_at)
        ON CONFLICT DO NOTHING RETURNING invitation_id
    ), counted AS (
        INSERT INTO surveys.scan_days AS d (person_id, day, branches)
        SELECT i.person_id, today, ARRAY[i.branch_id] FROM receipt
        ON CONFLICT ON CONSTRAINT scan_days_pkey DO UPDATE
        SET branches = CASE WHEN d.day >= excluded.day THEN d.branches || excluded.branches
                ELSE excluded.branches END,
            wrong = CASE WHEN d.day >= excluded.day THEN d.wrong ELSE 0 END,
            day = greatest(d.day, excluded.day)
        WHERE d.day < excluded.day OR cardinality(d.branches) < max_scans
            AND cardinality(array_positions(d.branches, i.branch_id)) < max_of_branch
        RETURNING d.person_id
    )
    INSERT INTO surveys.invitations AS v (id, survey_id, version, establishment_id, branch_id,
        person_id, source, request_id, purchased_at, invited_at, expires_at)
    SELECT receipt.invitation_id, i.survey_id, i.version, i.establishment_id, i.branch_id,
        counted.person_id, i.source, i.request_id, i.purchased_at, i.invited_at, i.expires_at
    FROM receipt CROSS JOIN counted
    RETURNING v.id INTO made;
    RETURN made;
END $$;

-- The answer where no invitation was made: by the same request at the same time, for a used
-- receipt, or at a limit.
CREATE OR REPLACE FUNCTION surveys.refuse_receipt(
    hash bytea, person bigint, request_id text
) RETURNS surveys.invited LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    given surveys.invitations;
    answer surveys.invited;
BEGIN
    SELECT i.* INTO given FROM surveys.receipts q
    JOIN surveys.invitations i ON i.id = q.invitation_id WHERE q.hash = hash;
    IF NOT FOUND THEN
        -- This transaction has just written it; a limit was reached meanwhile.
        DELETE FROM surveys.receipts q WHERE q.hash = hash AND NOT EXISTS (
            SELECT FROM surveys.invitations i WHERE i.id = q.invitation_id);
        RETURN surveys.refusal('too_many');
    END IF;
    answer := surveys.refusal('used');
    IF given.person_id = person THEN
        answer := surveys.answer_of(given);
        answer.reason := CASE WHEN given.request_id = request_id THEN 'ok' ELSE 'used' END;
    END IF;
    RETURN answer;
END $$;
