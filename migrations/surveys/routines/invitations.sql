-- Invitations: without a receipt, and what people read of theirs.

-- The invitation of a person at a time.
CREATE OR REPLACE FUNCTION surveys.invite_at(
    person bigint, survey bigint, source text, request_id text, at timestamptz
) RETURNS surveys.invited LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    i surveys.invitations;
    f record;
    reason text;
BEGIN
    PERFORM surveys.expect_request('invite', request_id);
    PERFORM errand.expect(length(source) BETWEEN 1 AND 100 AND source <> 'receipt'
        AND source !~ '[[:cntrl:]]',
        'invite: source: expected 1 to 100 characters on one line, and not receipt');
    SELECT s.id, s.version, s.establishment_id, coalesce(s.closed_at, e.closed_at) AS closed_at,
        surveys.end_of_day(at, v.expires_days, p.time_zone) AS expires_at, p.id AS person,
        people.is_clear(p) AS is_clear
    INTO f
    FROM surveys.surveys s
    JOIN surveys.versions v ON v.survey_id = s.id AND v.version = s.version
    JOIN establishments.establishments e ON e.id = s.establishment_id
    LEFT JOIN people.people p ON p.id = person
    WHERE s.id = survey;
    IF NOT FOUND THEN
        PERFORM surveys.expect_survey(survey);
    ELSIF f.person IS NULL THEN
        PERFORM people.expect_person(person);
    END IF;
    i := surveys.known_request(person, request_id);
    IF i.id IS NULL THEN
        IF f.is_clear IS NOT TRUE THEN
            reason := nullif(people.obstacle(person, at), 'none');
        END IF;
        IF reason IS NOT NULL OR f.closed_at IS NOT NULL THEN
            RETURN surveys.refusal(coalesce(reason, 'closed'));
        END IF;
        INSERT INTO surveys.invitations AS v (survey_id, version, establishment_id, person_id,
            source, request_id, purchased_at, invited_at, expires_at)
        VALUES (survey, f.version, f.establishment_id, person, source, request_id, at, at,
            f.expires_at)
        ON CONFLICT ON CONSTRAINT invitations_request DO NOTHING RETURNING v.* INTO i;
        IF i.id IS NULL THEN
            -- A concurrent call was faster.
            i := surveys.known_request(person, request_id);
        ELSE
            PERFORM surveys.announce(i);
        END IF;
    END IF;
    IF (i.survey_id, i.source) IS DISTINCT FROM (survey, source) THEN
        RAISE EXCEPTION 'the request_id % of person % is known with another survey or source: '
            'invitation %', request_id, person, i.id USING ERRCODE = 'unique_violation',
                HINT = 'Give each invitation a request_id of its own.';
    END IF;
    RETURN surveys.answer_of(i);
END $$;

CREATE OR REPLACE FUNCTION surveys.invite(
    person bigint, survey bigint, source text, request_id text
) RETURNS surveys.invited LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN surveys.invite_at(person, survey, source, request_id, clock_timestamp());
END $$;
COMMENT ON FUNCTION surveys.invite(bigint, bigint, text, text) IS $doc$
Invites a person to a survey without a receipt, and notifies them. The days in which it can be
answered begin now.

Arguments:
  person: who is invited
  survey: the survey
  source: what for, 1 to 100 characters on one line, such as beta-testers; not receipt
  request_id: the app's id of this request, 1 to 100 characters, the same when it repeats it
Returns:
  reason: ok, or why not
  invitation_id: the invitation
  survey_id: the survey
  version: the version of its questions that the person answers
  establishment_id: whose survey it is
  expires_at: from then on it cannot be answered: the end of a day in the person's time zone
Reasons:
  ok: the person is invited
  closed: the survey or its establishment is closed
  under_age: the person is under 16
  no_birth_date: the person's age is unknown: set birth_date with people.put_person
  blocked: the person's erasure was requested
Errors:
  22023: the source or the request_id is invalid
  23503: no such person or survey
  23505: the request_id is known with another survey or source
  RU002: no program has declared its kinds of notice yet: run errand migrate
Repeated: answers the same invitation. A refusal is decided again.
Sample:
  SELECT reason, invitation_id FROM surveys.invite(person => 17, survey => 12,
      source => 'welcome', request_id => 'invite-1');
$doc$;

-- What a person can answer at a time; each row is one step in an index, soonest first.
CREATE OR REPLACE FUNCTION surveys.listing_at(person bigint, max_rows int, at timestamptz)
RETURNS TABLE (invitation_id bigint, survey_id bigint, version int, title text,
    establishment_id bigint, establishment text, coupon text, reward bigint, currency text,
    minutes int, expires_at timestamptz, days_left int) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT i.id, i.survey_id, i.version, v.title, i.establishment_id, e.name,
        CASE WHEN e.closed_at IS NULL THEN v.coupon_title END, v.cut, v.currency, v.minutes,
        i.expires_at,
        ((i.expires_at - interval '1 microsecond') AT TIME ZONE p.time_zone)::date
            - ($3 AT TIME ZONE p.time_zone)::date
    FROM people.people p
    JOIN surveys.invitations i ON i.person_id = p.id AND i.expires_at > $3 AND i.state = 'open'
    JOIN surveys.versions v ON v.survey_id = i.survey_id AND v.version = i.version
    JOIN establishments.establishments e ON e.id = i.establishment_id
    -- A scan may have ended beside the block.
    WHERE p.id = $1 AND p.blocked_at IS NULL
    ORDER BY i.expires_at, i.id LIMIT least(greatest(max_rows, 0), 1000);
END $$;

CREATE OR REPLACE FUNCTION surveys.listing(person bigint, max_rows int DEFAULT 200)
RETURNS TABLE (invitation_id bigint, survey_id bigint, version int, title text,
    establishment_id bigint, establishment text, coupon text, reward bigint, currency text,
    minutes int, expires_at timestamptz, days_left int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM surveys.listing_at(person, max_rows, clock_timestamp());
END $$;
COMMENT ON FUNCTION surveys.listing(bigint, int) IS $doc$
Lists the surveys that a person can answer, for their app; those that expire soonest come first.

Arguments:
  person: the person
  max_rows: how many at most, up to 1000
Returns:
  invitation_id: the invitation, for questions_of and complete
  survey_id: the survey
  version: the version of the invitation
  title: what the survey is called
  establishment_id: whose survey it is
  establishment: the establishment's name
  coupon: what the coupon is for that the person gets; null for none
  reward: what the person gets, in minor units
  currency: the currency of the reward
  minutes: how long it takes
  expires_at: from then on it cannot be answered
  days_left: the days until its last day in the person's time zone; 0 on that day
Repeated: Reads only.
Sample:
  SELECT invitation_id, title, establishment, coupon, reward, currency, days_left
  FROM surveys.listing(person => 17);
$doc$;

CREATE OR REPLACE FUNCTION surveys.questions_of(invitation bigint, person bigint)
RETURNS TABLE (number smallint, kind surveys.question_kind, label text, options text[],
    is_required boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT q.number, q.kind, q.label, q.options, q.is_required
    FROM surveys.invitations i
    JOIN surveys.questions q ON q.survey_id = i.survey_id AND q.version = i.version
    WHERE i.id = invitation AND i.person_id = person ORDER BY q.number;
END $$;
COMMENT ON FUNCTION surveys.questions_of(bigint, bigint) IS $doc$
Lists the questions of a person's invitation, in the version that the person answers. No rows: the
person has no such invitation.

Arguments:
  invitation: the invitation
  person: whose it is
Returns:
  number: the key of its answer
  kind: rating, choice, many, yes_no or text
  label: the question, as people read it
  options: what to choose from, in the order of their numbers from 1; null for other kinds
  is_required: whether it must be answered
Repeated: Reads only.
Sample:
  SELECT number, kind, label, options, is_required
  FROM surveys.questions_of(invitation => 1, person => 17);
$doc$;
