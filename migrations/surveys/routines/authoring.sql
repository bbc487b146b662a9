-- Surveys: put by the servers of apps, in versions, and closed.

-- The survey of an id, as versions have it, without its questions.
CREATE OR REPLACE FUNCTION surveys.is_same(
    one surveys.versions, other surveys.versions, questions jsonb
) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (one.title, one.minutes, one.expires_days, one.paid, one.cut, one.currency,
            one.coupon_title, one.coupon_days)
        IS NOT DISTINCT FROM (other.title, other.minutes, other.expires_days, other.paid,
            other.cut, other.currency, other.coupon_title, other.coupon_days)
        AND surveys.questions_in(one.survey_id, one.version) = questions;
END $$;

-- The questions of a version, in the form in which put_survey takes them, with all fields.
CREATE OR REPLACE FUNCTION surveys.questions_in(survey bigint, version int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
BEGIN
    RETURN (SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('number', q.number,
            'kind', q.kind, 'label', q.label, 'options', to_jsonb(q.options),
            'is_required', q.is_required)) ORDER BY q.number)
        FROM surveys.questions q WHERE q.survey_id = survey AND q.version = version);
END $$;

-- Returns the questions with all fields, in the order of their numbers; raises an error unless
-- they are valid.
CREATE OR REPLACE FUNCTION surveys.expect_questions(questions jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    q jsonb;
    place int := 0;
    called text;
    made jsonb := '[]';
BEGIN
    PERFORM errand.expect(jsonb_typeof(questions) = 'array'
        AND jsonb_array_length(questions) BETWEEN 1 AND 100,
        'put_survey: questions: expected an array of 1 to 100 questions');
    FOR q IN SELECT e FROM jsonb_array_elements(questions) AS e LOOP
        place := place + 1;
        called := 'put_survey: question ' || place || ': ';
        PERFORM errand.expect(jsonb_typeof(q) = 'object', called || 'expected an object');
        q := '{"is_required": false}' || jsonb_strip_nulls(
            jsonb_build_object('number', place) || q);
        PERFORM errand.expect((SELECT bool_and(k = ANY ('{number,kind,label,options,is_required}'))
            FROM jsonb_object_keys(q) AS k),
            called || 'expected number, kind, label, options and is_required');
        PERFORM errand.expect(jsonb_typeof(q -> 'number') = 'number'
            AND q ->> 'number' ~ '^([1-9][0-9]?|100)$', called || 'number: expected 1 to 100');
        PERFORM errand.expect(jsonb_typeof(q -> 'kind') = 'string'
            AND q ->> 'kind' IN ('rating', 'choice', 'many', 'yes_no', 'text'),
            called || 'kind: expected rating, choice, many, yes_no or text');
        PERFORM errand.expect(surveys.is_line(q -> 'label', 500),
            called || 'label: expected 1 to 500 characters on one line');
        PERFORM errand.expect(jsonb_typeof(q -> 'is_required') = 'boolean',
            called || 'is_required: expected true or false');
        IF q ->> 'kind' IN ('choice', 'many') THEN
            PERFORM errand.expect(jsonb_typeof(q -> 'options') = 'array'
                AND jsonb_array_length(q -> 'options') BETWEEN 2 AND 50
                AND (SELECT bool_and(surveys.is_line(o, 200)) AND count(*) = count(DISTINCT o)
                    FROM jsonb_array_elements(q -> 'options') AS o),
                called || 'options: expected 2 to 50 different texts of up to 200 characters');
        ELSE
            PERFORM errand.expect(NOT q ? 'options',
                called || 'options: only a choice has options, and many');
        END IF;
        made := made || q;
    END LOOP;
    PERFORM errand.expect((SELECT count(DISTINCT e -> 'number') = place
        FROM jsonb_array_elements(made) AS e), 'put_survey: two questions have the same number');
    RETURN (SELECT jsonb_agg(e ORDER BY (e ->> 'number')::int)
        FROM jsonb_array_elements(made) AS e);
END $$;

-- Whether a JSON value is a text on one line.
CREATE OR REPLACE FUNCTION surveys.is_line(value jsonb, longest int) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(jsonb_typeof(value) = 'string' AND length(value #>> '{}') BETWEEN 1 AND longest
    AND value #>> '{}' !~ '[[:cntrl:]]', false);

-- Raises an error unless the columns of a version are valid.
CREATE OR REPLACE FUNCTION surveys.expect_version(v surveys.versions) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    most CONSTANT bigint := (SELECT r.max_reward FROM ledger.pay_rules r);
BEGIN
    PERFORM errand.expect(length(v.title) BETWEEN 1 AND 200 AND v.title !~ '[[:cntrl:]]',
        'put_survey: title: expected 1 to 200 characters on one line');
    PERFORM errand.expect(v.minutes BETWEEN 1 AND 60, 'put_survey: minutes: expected 1 to 60');
    PERFORM errand.expect(v.expires_days BETWEEN 1 AND 90,
        'put_survey: expires_days: expected 1 to 90');
    PERFORM errand.expect(v.cut > 0 AND v.cut <= v.paid AND v.paid <= most,
        format('put_survey: expected paid and cut in minor units, 0 < cut <= paid <= %s', most));
    PERFORM errand.expect(EXISTS (SELECT FROM ledger.currencies c WHERE c.code = v.currency),
        'put_survey: currency: expected a code of ISO 4217 in capital letters, such as CAD');
    PERFORM errand.expect(v.coupon_title IS NULL OR length(v.coupon_title) BETWEEN 1 AND 200
        AND v.coupon_title !~ '[[:cntrl:]]',
        'put_survey: coupon_title: expected 1 to 200 characters on one line, or null');
    PERFORM errand.expect(v.coupon_title IS NULL OR v.coupon_days BETWEEN 1 AND 365,
        'put_survey: coupon_days: expected 1 to 365');
END $$;

CREATE OR REPLACE FUNCTION surveys.put_survey(
    id bigint, establishment bigint, title text, minutes int, expires_days int DEFAULT 14,
    paid bigint DEFAULT NULL, cut bigint DEFAULT NULL, currency text DEFAULT 'CAD',
    coupon_title text DEFAULT NULL, coupon_days int DEFAULT 30, questions jsonb DEFAULT NULL,
    for_receipts boolean DEFAULT true
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    at CONSTANT timestamptz := clock_timestamp();
    known surveys.surveys;
    held surveys.versions;
    made surveys.versions := ROW (id, 1, title, minutes, expires_days, paid, cut, currency,
        coupon_title, CASE WHEN coupon_title IS NOT NULL THEN coupon_days END, at);
BEGIN
    PERFORM errand.expect(id >= 1, 'put_survey: id: expected a number from 1');
    PERFORM errand.expect(for_receipts IS NOT NULL, 'put_survey: for_receipts is missing');
    PERFORM surveys.expect_version(made);
    questions := surveys.expect_questions(questions);
    -- Surveys of one establishment wait for each other.
    PERFORM FROM establishments.establishments e WHERE e.id = establishment FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM establishments.expect_establishment(establishment);
    END IF;
    SELECT * INTO known FROM surveys.surveys s WHERE s.id = id FOR NO KEY UPDATE;
    IF known.establishment_id <> establishment THEN
        RAISE EXCEPTION 'survey % belongs to establishment %', id, known.establishment_id
            USING ERRCODE = 'unique_violation', HINT = 'Use another id.';
    END IF;
    IF for_receipts AND EXISTS (SELECT FROM surveys.surveys s
        WHERE s.establishment_id = establishment AND s.for_receipts AND s.closed_at IS NULL
          AND s.id <> id) THEN
        RAISE EXCEPTION 'another open survey of establishment % is for its receipts', establishment
            USING ERRCODE = 'unique_violation',
                HINT = 'Close that one first, or set for_receipts to false.';
    END IF;
    IF known.id IS NOT NULL THEN
        SELECT * INTO held FROM surveys.versions v
        WHERE v.survey_id = id AND v.version = known.version;
        IF surveys.is_same(held, made, questions) THEN
            made.version := held.version;
        ELSE
            made.version := held.version + 1;
        END IF;
    END IF;
    PERFORM surveys.keep_version(establishment, for_receipts, known, held, made, questions, at);
    RETURN made.version;
END $$;
COMMENT ON FUNCTION surveys.put_survey(
    bigint, bigint, text, int, int, bigint, bigint, text, text, int, jsonb, boolean) IS $doc$
Adds a survey of an establishment, or changes it. A change makes a new version, which new
invitations have; people who were invited before answer the version of their invitation. A closed
survey is open again.

Arguments:
  id: the survey's id, from 1; the app's
  establishment: whose survey it is; it cannot change
  title: 1 to 200 characters on one line, as people read it
  minutes: how long it takes, 1 to 60
  expires_days: how many days after the purchase it can be answered, 1 to 90
  paid: what the establishment pays for a completion, in minor units
  cut: the person's share of it, at most paid
  currency: the currency of both
  coupon_title: what the coupon of a completion is for; null for no coupon
  coupon_days: how many days the coupon is valid, 1 to 365
  questions: an array of 1 to 100 objects with kind (rating, choice, many, yes_no or text), label
    (1 to 500 characters), options (2 to 50 texts, of a choice or many), is_required (false unless
    given) and number (1 to 100; the place unless given)
  for_receipts: whether the establishment's receipts lead to it; one open survey of each
Returns:
  version: the survey's version, from 1
Errors:
  22023: an argument is invalid; the text names it
  23503: no such establishment
  23505: the survey belongs to another establishment, or another one is for the receipts
Repeated: with the same content, answers the same version and changes nothing; after close_survey it
  opens the survey again. So leave closed ones out of what you repeat for all surveys.
Sample:
  SELECT surveys.put_survey(id => 12, establishment => 7, title => 'How was your visit?',
      minutes => 3, paid => 500, cut => 300, coupon_title => 'A free coffee',
      questions => '[{"kind": "rating", "label": "The service", "is_required": true},
          {"kind": "text", "label": "What can we do better?"}]');
$doc$;

-- Keeps a version that is new, and whether receipts lead to the survey.
CREATE OR REPLACE FUNCTION surveys.keep_version(
    establishment bigint, for_receipts boolean, known surveys.surveys, held surveys.versions,
    made surveys.versions, questions jsonb, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
    IF known.id IS NULL THEN
        INSERT INTO surveys.surveys (id, establishment_id, for_receipts, long_from)
        VALUES (made.survey_id, establishment, for_receipts, at);
    ELSE
        UPDATE surveys.surveys s
        SET version = made.version, for_receipts = for_receipts, closed_at = NULL,
            long_from = CASE WHEN s.closed_at IS NOT NULL OR NOT s.for_receipts
                OR made.expires_days > held.expires_days THEN at ELSE s.long_from END
        WHERE s.id = known.id AND (s.version, s.for_receipts, s.closed_at)
            IS DISTINCT FROM (made.version, for_receipts, NULL::timestamptz);
    END IF;
    IF made.version > coalesce(held.version, 0) THEN
        INSERT INTO surveys.versions VALUES (made.*);
        INSERT INTO surveys.questions (survey_id, version, number, kind, label, options,
            is_required)
        SELECT made.survey_id, made.version, (q ->> 'number')::smallint,
            (q ->> 'kind')::surveys.question_kind, q ->> 'label',
            CASE WHEN q ? 'options' THEN ARRAY(
                SELECT o FROM jsonb_array_elements_text(q -> 'options') WITH ORDINALITY AS a (o, n)
                ORDER BY n) END,
            (q -> 'is_required')::boolean
        FROM jsonb_array_elements(questions) AS q;
    END IF;
    IF for_receipts AND NOT EXISTS (SELECT FROM surveys.receipt_keys k
        WHERE k.establishment_id = establishment AND k.retired_at IS NULL) THEN
        PERFORM surveys.ask_for_keys();
    END IF;
END $$;

CREATE OR REPLACE FUNCTION surveys.close_survey(id bigint) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    closed timestamptz;
BEGIN
    UPDATE surveys.surveys s SET closed_at = coalesce(s.closed_at, clock_timestamp())
    WHERE s.id = id RETURNING s.closed_at INTO closed;
    IF NOT FOUND THEN
        PERFORM surveys.expect_survey(id);
    END IF;
    RETURN closed;
END $$;
COMMENT ON FUNCTION surveys.close_survey(bigint) IS $doc$
Closes a survey: it invites nobody more. People who were invited can still answer it. put_survey
opens it again.

Arguments:
  id: the survey
Returns:
  closed_at: when it was closed
Errors:
  23503: no such survey
Repeated: answers the time of the first call.
Sample:
  SELECT surveys.put_survey(id => 13, establishment => 7, title => 'The terrace', minutes => 1,
      paid => 200, cut => 100, for_receipts => false,
      questions => '[{"kind": "yes_no", "label": "Did you sit outside?", "is_required": true}]');
  SELECT surveys.close_survey(id => 13);
$doc$;

-- Raises an error unless the survey exists.
CREATE OR REPLACE FUNCTION surveys.expect_survey(survey bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM surveys.surveys s WHERE s.id = survey) THEN
        RAISE EXCEPTION 'no survey has the id %', coalesce(survey::text, 'null')
            USING ERRCODE = 'foreign_key_violation', HINT = 'Add it with surveys.put_survey.';
    END IF;
END $$;
