-- Scanning receipts.

-- The answer to a code at a time, with all reads in one query.
CREATE OR REPLACE FUNCTION surveys.scan_at(
    person bigint, code text, request_id text, at timestamptz
) RETURNS surveys.invited LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    plain CONSTANT text := upper(translate(left(code, 200), E' \t\r\n', '') COLLATE "C");
    parts CONSTANT text[] := surveys.code_parts(plain);
    message CONSTANT text := left(plain, -21);
    establishment CONSTANT bigint := parts[1];
    branch CONSTANT bigint := parts[2];
    purchased_at CONSTANT timestamptz := to_timestamp(parts[4]::bigint);
    hash CONSTANT bytea := substr(sha256(convert_to(message, 'UTF8')), 1, 16);
    f record;
    reason text;  i surveys.invitations;
BEGIN
    SELECT r.*, p.id AS person, people.is_clear(p) AS is_clear, p.time_zone,
        (at AT TIME ZONE p.time_zone)::date AS today, d.day, d.wrong, d.branches,
        surveys.is_genuine(establishment, message, parts[5], at) AS is_genuine, s.id AS survey,
        s.version, CASE WHEN purchased_at < s.long_from THEN least(v.expires_days, 30)
            ELSE v.expires_days END AS days, b.id AS branch, e.closed_at, k.id AS known,
        EXISTS (SELECT FROM surveys.receipts q WHERE q.hash = hash) AS is_used
    INTO f
    FROM surveys.rules r
    LEFT JOIN people.people p ON p.id = person
    LEFT JOIN surveys.scan_days d ON d.person_id = person
    LEFT JOIN surveys.invitations k ON k.person_id = person AND k.request_id = request_id
    LEFT JOIN establishments.establishments e ON e.id = establishment
    LEFT JOIN establishments.branches b ON b.id = branch AND b.establishment_id = establishment
    LEFT JOIN surveys.surveys s ON s.establishment_id = establishment AND s.for_receipts
        AND s.closed_at IS NULL
    LEFT JOIN surveys.versions v ON v.survey_id = s.id AND v.version = s.version;
    IF f.person IS NULL OR (length(request_id) BETWEEN 1 AND 100) IS NOT TRUE THEN
        PERFORM surveys.expect_request('scan', request_id), people.expect_person(person);
    END IF;
    IF f.known IS NOT NULL THEN
        RETURN surveys.scanned_before(
            person, request_id, establishment, branch, purchased_at, hash, at);
    END IF;
    IF f.day < f.today THEN
        f.wrong := 0;
        f.branches := '{}';
    END IF;
    i.expires_at := surveys.end_of_day(purchased_at, f.days, f.time_zone);
    reason := CASE
        WHEN f.is_clear IS NOT TRUE AND people.obstacle(person, at) <> 'none'
            THEN people.obstacle(person, at)
        WHEN parts IS NULL THEN 'malformed'
        WHEN f.wrong >= f.wrong_codes THEN 'too_many'
        WHEN f.is_genuine IS NOT TRUE AND surveys.is_unsure(parts, message, at) THEN 'not_ready'
        WHEN f.is_genuine IS NOT TRUE OR f.branch IS NULL THEN 'unknown'
        WHEN purchased_at > at + f.clock_skew THEN 'from_future'
        WHEN f.survey IS NULL OR f.closed_at IS NOT NULL THEN 'closed'
        WHEN i.expires_at <= at THEN 'too_old'
        WHEN f.is_used THEN 'used'
        WHEN cardinality(f.branches) >= f.scans_a_day
            OR cardinality(array_positions(f.branches, branch)) >= f.scans_of_branch
            THEN 'too_many' END;
    IF reason IS NULL THEN
        i := ROW (NULL, f.survey, f.version, establishment, branch, person, 'receipt', request_id,
            purchased_at, at, i.expires_at, 'open', NULL);
        i.id := surveys.make_invitation(i, hash, f.today, f.scans_a_day, f.scans_of_branch);
    ELSIF reason <> 'used' THEN
        RETURN surveys.refuse_code(reason, person, f.today);
    END IF;
    IF i.id IS NULL THEN
        RETURN surveys.refuse_receipt(hash, person, request_id);
    END IF;
    RETURN surveys.answer_of(i);
END $$;

-- Whether a code that was not genuine may be: a key is not open, or was opened since it was looked
-- for. One query sees both.
CREATE OR REPLACE FUNCTION surveys.is_unsure(parts text[], message text, at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN surveys.has_closed_key(parts[1]::bigint)
        OR surveys.is_genuine(parts[1]::bigint, message, parts[5], at) IS TRUE;
END $$;

-- The answer to a code that is refused. Wrong codes are counted, and workers are asked for keys.
CREATE OR REPLACE FUNCTION surveys.refuse_code(reason text, person bigint, today date)
RETURNS surveys.invited LANGUAGE plpgsql AS $$
BEGIN
    IF reason = 'unknown' THEN
        PERFORM surveys.count_wrong(person, today);
    ELSIF reason = 'not_ready' THEN
        PERFORM surveys.ask_for_keys();
    END IF;
    RETURN surveys.refusal(reason);
END $$;

-- The answer to a request that has given an invitation before.
CREATE OR REPLACE FUNCTION surveys.scanned_before(
    person bigint, request_id text, establishment bigint, branch bigint,
    purchased_at timestamptz, hash bytea, at timestamptz
) RETURNS surveys.invited LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    given CONSTANT surveys.invitations := surveys.known_request(person, request_id);
BEGIN
    IF given.source <> 'receipt' OR (given.establishment_id, given.branch_id, given.purchased_at)
            IS DISTINCT FROM (establishment, branch, purchased_at)
        OR NOT EXISTS (SELECT FROM surveys.receipts q
            WHERE q.hash = hash AND q.invitation_id = given.id)
        -- Later the hash may be forgotten.
        AND given.expires_at > at - interval '30 days' THEN
        RAISE EXCEPTION 'the request_id % of person % is known with another code: invitation %',
            request_id, person, given.id USING ERRCODE = 'unique_violation',
                HINT = 'Give each scan a request_id of its own.';
    END IF;
    RETURN surveys.answer_of(given);
END $$;

-- Whether the establishment has a key that is not open, or will get its first one.
CREATE OR REPLACE FUNCTION surveys.has_closed_key(establishment bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM surveys.receipt_keys k
            LEFT JOIN surveys.open_receipt_keys o USING (establishment_id, version)
            WHERE k.establishment_id = establishment AND o.version IS NULL
              AND (k.good_until > clock_timestamp()) IS NOT FALSE)
        OR EXISTS (SELECT FROM surveys.surveys s
            WHERE s.establishment_id = establishment AND s.for_receipts AND s.closed_at IS NULL)
        AND NOT EXISTS (SELECT FROM surveys.receipt_keys k
            WHERE k.establishment_id = establishment AND k.retired_at IS NULL);
END $$;

CREATE OR REPLACE FUNCTION surveys.scan(person bigint, code text, request_id text)
RETURNS surveys.invited LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN surveys.scan_at(person, code, request_id, clock_timestamp());
END $$;
COMMENT ON FUNCTION surveys.scan(bigint, text, text) IS $doc$
Scans a receipt: the person is invited to the survey of the establishment. A receipt gives one
invitation, once for all people. A person scans at most 10 receipts on a day of their calendar, 3 of
them of one branch.

Arguments:
  person: who scanned it
  code: the text of the receipt's QR code; spaces and the case of letters do not matter
  request_id: the app's id of this request, 1 to 100 characters, the same when it repeats it
Returns:
  reason: ok, or why not
  invitation_id: the invitation, with ok; with used, if it is the person's own
  survey_id: the survey
  version: the version of its questions that the person answers
  establishment_id: whose survey it is
  expires_at: from then on it cannot be answered: the end of a day in the person's time zone
Reasons:
  ok: the person is invited
  malformed: this is no code of a receipt
  unknown: no receipt of a known branch has this code; counts as a wrong code
  used: the receipt was scanned before
  too_old: the days in which it can be answered are over
  from_future: the purchase is more than 10 minutes in the future
  closed: the establishment is closed, or has no open survey for its receipts
  too_many: the person has scanned too many receipts or wrong codes today
  under_age: the person is under 16
  no_birth_date: the person's age is unknown: set birth_date with people.put_person
  blocked: the person's erasure was requested
  not_ready: workers prepare the keys, as after a crash of PostgreSQL: ask again in a second
Errors:
  22023: the request_id is missing or too long
  23503: no such person
  23505: the request_id is known with another code
Repeated: answers the same invitation. A refusal is decided again.
Sample:
  SELECT reason, invitation_id FROM surveys.scan(person => 17,
      code => 'ER1.7.3.A-1042.1764115200.00112233445566778899', request_id => 'scan-1');
$doc$;
